"use strict";
// The heads of tables sort, and the arrow keys go from cell to cell. Without it all can be read.
const RANK = ["fail", "error", "inconclusive", "not_gradable", "pass"];
const KEYS = {
  text: (cell) => cell.textContent.trim().toLowerCase(),
  number: (cell) => parseFloat(cell.textContent),
  status: (cell) => RANK.findIndex((status) => cell.classList.contains(status)),
};

function compared(kind, one, other) {
  return kind === "text" ? one.localeCompare(other) : one - other;
}

function isLast(kind, key) {
  return kind === "number" ? Number.isNaN(key) : kind === "status" && key < 0;
}

function sort(table, head, ascending) {
  const kind = head.dataset.sort, column = Number(head.dataset.column), body = table.tBodies[0];
  const lines = Array.from(body.rows, (row) => [KEYS[kind](row.cells[column]), row]);
  lines.sort(([one], [other]) => {
    const last = isLast(kind, one) - isLast(kind, other);
    if (last || isLast(kind, one)) return last;
    return ascending ? compared(kind, one, other) : compared(kind, other, one);
  });
  body.append(...lines.map(([, row]) => row));
  for (const each of table.querySelectorAll("th[aria-sort]")) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
}

function makeSortable(table) {
  const told = document.createElement("span");
  told.setAttribute("role", "status");
  table.caption.append(told);
  for (const head of table.querySelectorAll("th[data-sort]")) {
    const name = head.textContent.trim(), button = document.createElement("button");
    button.type = "button";
    if (head.querySelector("a")) {  // what leads elsewhere stays a link
      button.textContent = "\u2195";
      button.setAttribute("aria-label", "Sort by " + name);
      head.append(" ", button);
    } else {
      button.append(...head.childNodes);
      head.append(button);
    }
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const ascending = now ? now === "descending" : head.dataset.sort !== "number";
      sort(table, head, ascending);
      told.textContent = ", by " + name + (ascending ? ", ascending" : ", descending");
    });
  }
}

// One cell is reached by Tab, the others by arrows: a class has thousands.
function makeWalkable(table) {
  const links = table.tBodies[0].querySelectorAll("td > a");
  links.forEach((link, number) => { link.tabIndex = number ? -1 : 0; });
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("tbody td");
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!cell || !(event.key in step)) return;
    const [right, down] = step[event.key], rows = table.tBodies[0].rows;
    let x = cell.cellIndex, y = cell.parentElement.sectionRowIndex, link = null;
    do {
      x += right;
      y += down;
      link = rows[y]?.cells[x]?.querySelector("a");
    } while (rows[y]?.cells[x] && !link);
    if (!link || link.closest("th")) return;
    event.preventDefault();
    for (const each of table.querySelectorAll("td > a[tabindex='0']")) each.tabIndex = -1;
    link.tabIndex = 0;
    link.focus();
  });
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll(".heat table").forEach(makeWalkable);
