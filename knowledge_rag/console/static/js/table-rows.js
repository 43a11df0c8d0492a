/**
 * Steps that are rows of a table. The server writes `Symptom: slow | Cause: a lock | Action: wait`, each cell with the
 * name of its column; on the page they stand in columns. Every word stays in its place in the text.
 */
import { h } from "./dom.js";

const BETWEEN = " | ";
/** The name of a column, as it begins a cell. */
const COLUMN = /^\s*([^:|]{1,60}):\s/;

/** @param {Element} item of a list */
export function tabulate(item) {
  const box = item.querySelector(":scope > p") ?? item;
  const cells = cellsOf(box);
  if (cells.length < 2 || !cells.every(nameOf)) return;
  // columns that the row above has too are named there
  const names = cells.map((cell) => COLUMN.exec(/** @type {Text} */ (nameOf(cell)).data)?.[1]).join(BETWEEN);
  const row = h("span", { class: "cells" });
  cells.forEach((cell, at) => row.append(...(at ? [h("span", { class: "visually-hidden" }, BETWEEN)] : []), cellOf(cell)));
  const blocks = [...box.childNodes].filter(isBlock);
  box.replaceChildren(row, ...blocks);
  item.classList.add("row");
  item.setAttribute("data-columns", names);
  item.classList.toggle("same-columns", item.previousElementSibling?.getAttribute("data-columns") === names);
}

/** The words of an item, cut where a cell ends; a list or code below them is no cell. @param {Element} box */
function cellsOf(box) {
  /** @type {Node[][]} */
  const cells = [[]];
  for (const node of box.childNodes) {
    if (isBlock(node)) continue;
    if (!(node instanceof Text)) {
      cells[cells.length - 1].push(node);
      continue;
    }
    node.data.split(BETWEEN).forEach((text, at) => {
      if (at) cells.push([]);
      if (text) cells[cells.length - 1].push(document.createTextNode(text));
    });
  }
  return cells;
}

/** @param {Node} node */
function isBlock(node) {
  return node instanceof Element && node.matches("p, ul, ol, pre, .code, blockquote, .table-box");
}

/** The text that names a cell's column: its first words, behind a label that the server may have put before them. @param {Node[]} cell */
function nameOf(cell) {
  const text = cell.find((node) => node instanceof Text && node.data.trim());
  return text instanceof Text && COLUMN.test(text.data) && cell.slice(0, cell.indexOf(text)).every((node) => node instanceof Text || node.nodeName === "STRONG") ? text : null;
}

/** @param {Node[]} cell */
function cellOf(cell) {
  const text = /** @type {Text} */ (nameOf(cell));
  const name = COLUMN.exec(text.data)?.[0] ?? "";
  const made = h("span", { class: "cell" }, cell);
  text.before(h("span", { class: "column" }, name));
  text.data = text.data.slice(name.length);
  return made;
}
