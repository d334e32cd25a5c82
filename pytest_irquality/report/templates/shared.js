"use strict";
// What both pages need: elements that hold text as text, and files of comma-separated values.

const h = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
};

const FORMULA = /(?:^|(?<=[;|\t\r\n])) *'*(?=[=+\-@＝＋－＠])|^'*(?=[\t\r\n])/g; // what a spreadsheet would take for a formula

/** Rows as CSV: a text that could be a formula begins with a mark, a number is itself. */
const csv = (rows) => {
  const cell = (value) => {
    if (typeof value === "number") return String(value);
    const text = String(value ?? "").replace(FORMULA, "$&'");
    return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
};

const save = (name, rows) => {
  const link = h("a", { href: URL.createObjectURL(new Blob([csv(rows)], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60e3);
};
