// Elements and words. Every text goes in as text: there is no HTML of anybody's here.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "circle", "rect", "text"]);

/** h makes an element; properties that begin with "on" are listeners. */
export function h(tag, props = {}, ...children) {
  const el = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) el.setAttribute(name, value === true ? "" : value);
  }
  el.append(...children.filter((c) => c != null && c !== false));
  return el;
}

export const number = (n) => n.toLocaleString("en");

export const seats = (n) => (n === 1 ? "1 seat" : `${n} seats`);

/** clock is a time of day, with seconds where they matter. */
export function clock(ms, precise = false) {
  return new Date(ms).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: precise ? "2-digit" : undefined });
}

export function left(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
}

/** spoken is a time left in words. */
export function spoken(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const minutes = Math.floor(s / 60);
  const words = [];
  if (minutes) words.push(minutes === 1 ? "1 minute" : `${minutes} minutes`);
  if (s % 60 || !minutes) words.push(s % 60 === 1 ? "1 second" : `${s % 60} seconds`);
  return `${words.join(" ")} left`;
}

export function ago(ms) {
  const s = Math.max(0, ms / 1000);
  if (s < 45) return "now";
  if (s < 5400) return `${Math.round(s / 60)} min ago`;
  if (s < 129_600) return `${Math.round(s / 3600)} h ago`;
  return `${Math.round(s / 86_400)} days ago`;
}

/** place says where somebody stands. */
export const place = (fan) => (fan.position ? `number ${number(fan.position)}` : "holds a seat");

/** ring counts down; set it anew with turn. */
export function ring(kind) {
  const around = 2 * Math.PI * 82;
  const circle = (name, more) => h("circle", { class: name, cx: 95, cy: 95, r: 82, fill: "none", "stroke-width": 12, ...more });
  const arc = circle("left", { "stroke-linecap": "round", "stroke-dasharray": around, transform: "rotate(-90 95 95)" });
  const figure = h("text", { x: 95, y: 107, "text-anchor": "middle" });
  const el = h("svg", { class: `ring ${kind}`, viewBox: "0 0 190 190", role: "timer", "aria-live": "off" }, circle("ground"), arc, figure);
  return {
    el,
    turn(ms, of) {
      figure.textContent = left(ms);
      el.setAttribute("aria-label", spoken(ms));
      arc.setAttribute("stroke-dashoffset", around * (1 - Math.min(1, Math.max(0, ms / of))));
    },
  };
}

/** line draws a short line up to the fan. */
export function line(position) {
  const cells = Array.from({ length: position }, (_, i) => h("i", { class: i === position - 1 ? "me" : "" }));
  const ahead = position - 1;
  const words = ahead === 0 ? "Nobody is ahead of you" : ahead === 1 ? "1 fan is ahead of you" : `${ahead} fans are ahead of you`;
  return h("div", { class: "cells", role: "img", "aria-label": words }, ...cells);
}

/** percentAhead is how much of a line is ahead of a position. */
export const percentAhead = (position, waiting) => Math.round(((position - 1) / waiting) * 100);

/** whole draws a long line to scale, and where the fan stands in it. */
export function whole(position, waiting) {
  const percent = percentAhead(position, waiting);
  return h("div", { class: "whole" },
    h("svg", { viewBox: "0 0 300 14", role: "img", "aria-label": `${percent ? `About ${percent}` : "Less than 1"} % of the line is ahead of you` },
      h("rect", { class: "ground", x: 0, y: 4, width: 300, height: 6, rx: 3 }),
      h("rect", { class: "me", x: percent * 2.94, y: 0, width: 6, height: 14, rx: 2 })),
    h("p", { class: "note", "aria-hidden": "true" }, h("span", {}, "front"), h("span", {}, "tail")));
}
