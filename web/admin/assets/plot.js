// Draws the plot of claims against the pace anew with uPlot, so that one can point at a moment and read it. What it
// shows is in the picture that the server drew, which stays where there is no script.
for (const box of document.querySelectorAll("[data-plot]")) {
  const { from, step, turns, claims, pace, zone } = JSON.parse(box.dataset.plot);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const times = turns.map((_, i) => from + i * step);
  const most = Math.max(...turns, ...claims);
  const near = pace <= 4 * 1.15 * most;
  const clock = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const axis = () => ({ stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" });
  const said = document.createElement("p");
  said.className = "note said";
  const rate = (n) => (n / step).toLocaleString("en", { maximumFractionDigits: 2 });
  const options = () => ({
    width: box.clientWidth, height: 150, legend: { show: false }, cursor: { y: false, drag: { x: false } },
    scales: { x: { time: true }, y: { range: [0, Math.max(most * 1.15, near ? pace * 1.1 : 0) / step] } },
    axes: [
      { ...axis(), size: 24, space: 70, values: (_, list) => list.map((t) => clock.format(t * 1000).slice(0, 5)) },
      { ...axis(), size: 36, space: 34 },
    ],
    series: [
      {},
      { stroke: colour("--upcoming"), fill: colour("--upcoming"), paths: uPlot.paths.bars({ size: [0.85] }), points: { show: false } },
      { stroke: colour("--bought"), width: 2, points: { show: false } },
      { stroke: colour("--soft"), dash: [5, 4], width: 1, points: { show: false }, show: near },
    ],
    hooks: {
      setCursor: [(u) => {
        const i = u.cursor.idx ?? turns.length - 1;
        said.textContent = `${clock.format(times[i] * 1000)}: ${rate(turns[i])} turns and ${rate(claims[i])} claims a second`;
      }],
    },
  });
  const data = [times, turns.map((n) => n / step), claims.map((n) => n / step), turns.map(() => pace / step)];
  let plot;
  const draw = () => {
    plot?.destroy();
    box.replaceChildren();
    plot = new uPlot(options(), data, box);
  };
  draw();
  box.after(said);
  new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: 150 })).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
