"use strict";
// The page can be read without this: it sorts tables, and shows values under the pointer.

// In what is read as a number: 1,234.5 | 64 KiB | 87% | < 1% | 1.20x | 8.000 (36%) | 131.5 to 140.2
const units = {"": 1, "%": 0.01, "x": 1, "B": 1, "s": 1, "ms": 1e-3, "us": 1e-6,
  "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30, "TiB": 2 ** 40, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12};

function number(text) {
  const found = /^(< )?(-?[\d.,]+(?:e-?\d+)?) ?([A-Za-z%]*)/.exec(text);
  if (!found) return text === "best" ? 1 : NaN;
  return parseFloat(found[2].replace(/,/g, "")) * (found[1] ? 0.5 : 1) * (units[found[3]] ?? 1);
}

// Numbers before texts, each in their order; what is missing stays at the end.
function compare(one, other, sign) {
  const a = number(one), b = number(other);
  if (one === "-" || other === "-") return (one === "-") - (other === "-");
  if (isNaN(a) || isNaN(b)) return isNaN(a) && isNaN(b) ? sign * one.localeCompare(other) : isNaN(a) - isNaN(b);
  return sign * (a - b);
}

function sort(table, head) {
  const rises = head.getAttribute("aria-sort") !== "ascending";
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", rises ? "ascending" : "descending");
  const body = table.tBodies[0], column = head.cellIndex;
  const rows = [...body.rows].map((row) => [row.cells[column].textContent, row]);
  rows.sort((one, other) => compare(one[0], other[0], rises ? 1 : -1));
  body.append(...rows.map((row) => row[1]));
  table.classList.add("sorted");
}

for (const table of document.querySelectorAll("table.sortable")) {
  if (table.tBodies[0].rows.length < 2) continue;
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, head));
    head.append(button);
  }
}

const pointer = document.getElementById("pointer");
const reach = 28; // pixels from a point

function nearest(points, event) {
  let best = null, least = reach;
  for (const point of points) {
    const box = point.getBoundingClientRect();
    const far = Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
    if (far < least) [best, least] = [point, far];
  }
  return best;
}

for (const svg of document.querySelectorAll(".picture svg")) {
  const points = [...svg.querySelectorAll("use")].filter((point) => point.querySelector("title"));
  for (const point of points) { // else the browser shows the same text a second time
    point.dataset.text = point.querySelector("title").textContent;
    point.querySelector("title").remove();
  }
  if (!points.length) continue;
  svg.addEventListener("pointermove", (event) => {
    const point = nearest(points, event);
    pointer.hidden = !point;
    if (!point) return;
    pointer.textContent = point.dataset.text;
    const left = Math.min(event.clientX + 12, document.documentElement.clientWidth - pointer.offsetWidth - 8);
    pointer.style.left = `${Math.max(8, left)}px`;
    pointer.style.top = `${event.clientY + 16}px`;
  });
  svg.addEventListener("pointerleave", () => { pointer.hidden = true; });
}
