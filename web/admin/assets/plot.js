// Draws the plot of claims against the pace anew with uPlot, so that one can point at a moment and read it. What it
// shows is in the picture that the server drew, which stays where there is no script. A plot whose figures change is
// drawn again (live.js).
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const axis = () => ({ stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" });
const height = 150;

function optionsOf({ from, step, turns, claims, pace, zone }, width, said) {
  const most = Math.max(...turns, ...claims);
  const near = pace <= 4 * 1.15 * most;
  const clock = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const rate = (n) => (n / step).toLocaleString("en", { maximumFractionDigits: 2 });
  return {
    width, height, legend: { show: false }, cursor: { y: false, drag: { x: false } },
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
        said.textContent = `${clock.format((from + i * step) * 1000)}: ${rate(turns[i])} turns and ${rate(claims[i])} claims a second`;
      }],
    },
  };
}

const drawn = new Map(); // the plot of each box, and the figures that it shows
const widths = new ResizeObserver((boxes) => boxes.forEach(({ target }) => drawn.get(target)?.plot.setSize({ width: target.clientWidth, height })));

function draw(box) {
  const figures = JSON.parse(box.dataset.plot);
  const perSecond = (list) => list.map((n) => n / figures.step);
  const data = [figures.turns.map((_, i) => figures.from + i * figures.step), perSecond(figures.turns), perSecond(figures.claims), figures.turns.map(() => figures.pace / figures.step)];
  const said = document.createElement("p");
  said.className = "note said";
  drawn.get(box)?.plot.destroy();
  box.replaceChildren();
  drawn.set(box, { plot: new uPlot(optionsOf(figures, box.clientWidth, said), data, box), figures: box.dataset.plot });
  box.append(said);
  widths.observe(box);
}

function drawAll() {
  for (const [box, { plot }] of drawn) {
    if (!box.isConnected) {
      plot.destroy();
      widths.unobserve(box);
      drawn.delete(box);
    }
  }
  for (const box of document.querySelectorAll("[data-plot]")) {
    if (drawn.get(box)?.figures !== box.dataset.plot) draw(box);
  }
}

drawAll();
const rush = document.getElementById("part-rush");
if (rush) new MutationObserver(drawAll).observe(rush, { subtree: true, childList: true, attributeFilter: ["data-plot"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((_, box) => draw(box)));
