"use strict";
// What both pages need: elements that hold text as text, and files of comma-separated values.

/** Create an element. Attributes that begin with "on" are listeners; null and false leave one out. */
function createElement(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

function createButton(content, onclick, attributes) {
  return createElement("button", { type: "button", onclick, ...attributes }, content);
}

const formatNumber = (number) => number.toLocaleString("en");

function formatCount(number, singular, plural) {
  return `${formatNumber(number)} ${number === 1 ? singular : plural ?? `${singular}s`}`;
}

// What a spreadsheet would take for a formula, also after another separator than ours.
const FORMULA = /(?:^|(?<=[;|\t\r\n]))[ "]*'*(?=[=+\-@＝＋－＠])|^'*(?=[\t\r\n])/g;

/** Write rows as CSV. A text that could be a formula begins with an apostrophe. */
function formatCsv(rows) {
  const formatCell = (value) => {
    if (typeof value === "number") return String(value);
    const text = String(value ?? "").replace(FORMULA, "$&'");
    return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(formatCell).join(",")}\n`).join("");
}

function saveCsv(name, rows) {
  const blob = new Blob([formatCsv(rows)], { type: "text/csv" });
  const link = createElement("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
