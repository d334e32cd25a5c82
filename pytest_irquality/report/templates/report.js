// Draws the query tables from the data block of the page: filters, search, sorting, keyboard, what a row opens to.
// Everything a person reads was put into words before; text only ever enters the page as text.
(async () => {
  // A stream of bytes, as the page may ask no network, its own file included.
  function unpacked(base64) {
    const binary = atob(base64);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  }
  const unpacking = unpacked(document.getElementById("data").textContent);
  document.documentElement.classList.add("js"); // at once: what is for readers without scripts is never seen
  const page = await unpacking;

  // An English sentence, in which names that are written from right to left keep that to themselves.
  const RIGHT_TO_LEFT = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufeff";
  const NAMES = new RegExp(`[${RIGHT_TO_LEFT}](?:[^'"(),;:\u2192]*[${RIGHT_TO_LEFT}])?`, "g");
  const isolated = (text) => {
    let at = 0;
    const parts = [...text.matchAll(NAMES)].flatMap((name) => {
      const before = text.slice(at, name.index);
      at = name.index + name[0].length;
      return [before, h("bdi", {}, name[0])];
    });
    return [...parts, text.slice(at)];
  };
  const stated = ([css, symbol, word]) =>
    h("span", { class: `state ${css}` }, h("span", { "aria-hidden": "true" }, symbol), ` ${word}`);

  // -- the address: what is shown, as #s=1&tab=Limits or #show=failed&find=tag:head&sort=-outcome&open=q14 -------------

  const firstBad = Math.max(0, page.sections.findIndex((section) => section.bad));
  const state = { s: firstBad, tab: "Overview", show: "all", find: "", sort: "", open: null };

  function fromAddress() {
    const told = new URLSearchParams(location.hash.slice(1));
    const section = Number(told.get("s")) - 1;
    state.s = page.sections[section] ? section : firstBad;
    state.show = page.kinds.includes(told.get("show")) ? told.get("show") : "all";
    state.find = told.get("find") ?? "";
    state.sort = told.get("sort") ?? "";
    const table = page.sections[state.s];
    const row = table && told.has("open") ? table.state.findIndex((_, at) => name(table, at) === told.get("open")) : -1;
    state.open = row < 0 ? null : row;
    state.tab = told.get("tab") ?? (isAsked() ? "Queries" : "Overview");
  }

  const isAsked = () => state.show !== "all" || state.find || state.sort || state.open !== null;

  function toAddress(push) {
    const told = new URLSearchParams();
    if (page.sections.length > 1) told.set("s", state.s + 1);
    if (state.tab !== (isAsked() ? "Queries" : "Overview")) told.set("tab", state.tab);
    if (state.show !== "all") told.set("show", state.show);
    if (state.find) told.set("find", state.find);
    if (state.sort) told.set("sort", state.sort);
    if (state.open !== null) told.set("open", name(page.sections[state.s], state.open));
    const address = `#${told}`;
    if (address !== (location.hash || "#")) history[push ? "pushState" : "replaceState"](null, "", address);
  }

  const text = (table, row) => table.columns[0].cells[row];
  const id = (table, row) => table.columns[0].beside?.[row] ?? "";
  const name = (table, row) => id(table, row) || text(table, row);

  // To look for queries is to look at their table.
  function change(changes, push = true) {
    const looks = ["show", "find", "sort"].some((key) => key in changes) || (changes.open ?? null) !== null;
    Object.assign(state, looks ? { tab: "Queries" } : {}, changes);
    toAddress(push);
    show();
  }

  // -- which rows, in which order --------------------------------------------------------------------------------------

  function terms(table, find) {
    return [...find.matchAll(/(?:(tag|doc|change):)?(?:"([^"]*)"?|(\S+))/gi)].map(([, field, quoted, word]) => {
      const wanted = (quoted ?? word).toLowerCase();
      if (field?.toLowerCase() === "tag") {
        const tags = table.columns.find((column) => column.tags)?.tags ?? [];
        const names = [...new Set(tags.flat())];
        const found = new Set([...named(names, wanted)].map((at) => names[at]));
        return (row) => tags[row]?.some((tag) => found.has(tag));
      }
      if (field?.toLowerCase() === "change") {
        const [low, high] = wanted.split("..").map(Number);
        return (row) => table.change[row] !== "" && table.change[row] >= low - 1e-6 && table.change[row] <= (high ?? low) + 1e-6;
      }
      if (field) {
        const documents = named(page.ids, wanted);
        const has = (flat) => (flat ?? []).some((entry, at) => at % 4 === 0 && documents.has(entry));
        return (row) => ["now", "before", "missing"].some((side) => has(table.details[row][side]));
      }
      return (row) => table.words[row].includes(wanted);
    });
  }

  // The names that are the wanted word, or, while it is being typed, those that begin with it.
  const lowered = new Map();
  function named(names, wanted) {
    if (!lowered.has(names)) lowered.set(names, names.map((text) => text.toLowerCase()));
    const low = lowered.get(names);
    const exact = low.includes(wanted);
    return new Set(low.flatMap((text, at) => ((exact ? text === wanted : text.startsWith(wanted)) ? [at] : [])));
  }

  function matching(table) {
    const bit = 1 << page.kinds.indexOf(state.show);
    const tests = terms(table, state.find);
    return sorted(table).filter((row) => table.kind[row] & bit && tests.every((test) => test(row)));
  }

  function sorted(table) {
    const all = table.state.map((_, row) => row);
    const column = table.columns.find(({ key }) => key === state.sort.replace(/^-/, ""));
    if (!column) return all;
    const has = new Set(column.order);
    const order = state.sort.startsWith("-") ? column.order.toReversed() : column.order;
    return [...order, ...all.filter((row) => !has.has(row))];
  }

  // -- the table: a page of rows at a time, so that nothing is drawn while somebody scrolls ---------------------------

  const PAGE = 500, SCREEN = 60, LEAD = 80;

  class Table {
    constructor(data, section) {
      this.data = data;
      data.words = data.state.map((_, row) => `${text(data, row)}\n${id(data, row)}`.toLowerCase());
      data.listed = data.columns.filter((column) => column.listed);
      this.rows = [];
      this.made = new Map();
      this.at = 0; // the row that the keyboard is on
      this.body = h("tbody", { onclick: (event) => this.clicked(event) });
      this.heads = data.listed.map((column) => this.head(column));
      this.table = h("table", { class: "rows" }, h("caption", { class: "unseen" }, `Queries of ${data.name}`),
        h("thead", {}, h("tr", { "aria-rowindex": 1 }, this.heads)), this.body);
      this.live = section.querySelector("div.live");
      this.search = this.live.querySelector("input");
      this.search.addEventListener("input", () => change({ find: this.search.value, open: null }, false));
      this.chips = [...this.live.querySelectorAll("[data-kind]")];
      this.chips.forEach((chip) => chip.addEventListener("click", () => change({ show: chip.dataset.kind, open: null })));
      this.sort = h("select", { onchange: () => change({ sort: this.sort.value }) },
        h("option", { value: "" }, "worst first"),
        data.columns.flatMap(({ key, about, label }) => [
          h("option", { value: key }, `${titled(about, label)} ↑`),
          h("option", { value: `-${key}` }, `${titled(about, label)} ↓`)]));
      this.live.querySelector(".tools").append(h("label", { class: "sort" }, "Sort ", this.sort));
      this.live.querySelector(".found").after(
        h("button", { type: "button", class: "link", onclick: () => save(`${data.stem}.queries.csv`, this.listed()) }, "Save as CSV"));
      this.pages = h("p", { class: "pages" });
      this.live.append(this.table, this.pages);
    }

    head(column) {
      const about = column.about && column.about !== column.label ? h("span", { class: "unseen" }, `${column.about} `) : null;
      const sort = () => change({ sort: this.next(column.key), open: null });
      return h("th", { scope: "col", class: css(column), "data-key": column.key }, h("button", { type: "button", onclick: sort }, about, column.label));
    }

    // Numbers are sorted the largest change for the worse first, then the other way, then not at all.
    next(key) {
      return { "": key, [key]: `-${key}`, [`-${key}`]: "" }[state.sort] ?? key;
    }

    filter() {
      const key = JSON.stringify([state.show, state.find, state.sort]);
      if (key === this.filtered) return;
      this.filtered = key;
      this.rows = matching(this.data);
      this.search.value = this.search.value.trim() === state.find.trim() ? this.search.value : state.find;
      this.sort.value = state.sort;
      this.chips.forEach((chip) => chip.setAttribute("aria-pressed", chip.dataset.kind === state.show));
      this.heads.forEach((head) => {
        const { key } = head.dataset;
        head.setAttribute("aria-sort", state.sort === key ? "ascending" : state.sort === `-${key}` ? "descending" : "none");
      });
      this.table.setAttribute("aria-rowcount", this.rows.length + 1);
      const all = this.data.state.length;
      const found = this.live.querySelector(".found");
      found.replaceChildren(this.rows.length === all ? `${all} ${all === 1 ? "query" : "queries"}` : `${this.rows.length} of ${all} queries`);
      if (this.rows.length < all) {
        found.append(" · ", h("button", { type: "button", class: "link", onclick: () => change({ show: "all", find: "", open: null }) }, "show all"));
      }
      this.turn(0);
    }

    // To the page of rows that a row of the list stands on.
    turn(at) {
      this.at = at;
      this.first = Math.floor(at / PAGE) * PAGE;
      const last = Math.min(this.first + PAGE, this.rows.length);
      const rows = (from, to) => this.rows.slice(from, to).map((row, n) => this.row(row, from + n));
      const seen = at === 0 && state.open === null ? Math.min(SCREEN, last) : last;
      this.body.replaceChildren(...rows(this.first, seen));
      clearTimeout(this.drawing); // the rest once the first rows are seen, so that a search takes under 100 ms
      this.rest = () => { this.body.append(...rows(seen, last)); this.rest = () => {}; };
      this.drawing = seen < last ? setTimeout(() => this.rest(), 50) : 0;
      if (this.detail) this.made.get(this.opened)?.after(this.detail);
      const to = (place, words) => h("button", { type: "button", onclick: () => { this.turn(place); this.table.scrollIntoView(); } }, words);
      this.pages.replaceChildren(...(this.rows.length <= PAGE ? [] : [
        this.first ? to(this.first - PAGE, `previous ${PAGE}`) : "", ` ${this.first + 1} to ${last} of ${this.rows.length} `,
        last < this.rows.length ? to(last, `next ${Math.min(PAGE, this.rows.length - last)}`) : ""]));
    }

    open() {
      if (this.opened === state.open) return;
      if (state.open !== null && !this.made.get(state.open)?.isConnected) this.rest();
      const expanded = (row, is) => this.made.get(row)?.querySelector(".text").setAttribute("aria-expanded", is);
      this.detail?.remove();
      this.detail = null;
      expanded(this.opened, "false");
      this.opened = state.open;
      if (state.open === null) return;
      if (!this.rows.includes(state.open)) { // a link to a query that its filter hides
        Object.assign(state, { show: "all", find: "" });
        this.filter();
      }
      this.detail = h("tr", { class: "more" }, h("td", { colspan: this.data.listed.length }, opened(this.data, state.open)));
      const at = this.rows.indexOf(state.open);
      if (at < this.first || at >= this.first + PAGE) this.turn(at);
      else this.made.get(state.open).after(this.detail);
      expanded(state.open, "true");
    }

    row(row, at) {
      if (!this.made.has(row)) this.made.set(row, this.makeRow(row));
      const element = this.made.get(row);
      element.setAttribute("aria-rowindex", at + 2);
      element.querySelector("button").tabIndex = at === this.at ? 0 : -1;
      return element;
    }

    makeRow(row) {
      const said = (column) => [column.key === "outcome" ? [stated(page.states[this.data.state[row]]), " "] : "", h("span", { class: "said", dir: "ltr" }, isolated(column.cells[row]))];
      const cells = this.data.listed.map((column, at) => {
        if (at === 0) {
          return h("th", { scope: "row" },
            h("button", { type: "button", class: "text", dir: "auto", "aria-expanded": "false" }, column.cells[row]),
            h("span", { class: "id", dir: "auto" }, id(this.data, row)));
        }
        if (column.number) return h("td", { class: `num ${sided(column, row)}`, "data-label": column.label }, column.cells[row]);
        return h("td", { class: column.key }, h("div", { class: "clamp" }, (column.tags ?? [])[row]?.map(tagged) ?? said(column).flat()));
      });
      return h("tr", { class: `row ${page.states[this.data.state[row]][0]}`, "data-row": row }, cells);
    }

    // All that the filters let through, in the order of the table, with the columns that are seen in details only.
    listed() {
      const { data } = this;
      const value = (cell) => {
        const number = Number(cell.replace("\u2212", "-"));
        return cell && Number.isFinite(number) ? number : cell === "=" ? 0 : cell;
      };
      const cell = (column, row) => (column.number ? value(column.cells[row]) : column.tags ? column.tags[row].join(", ")
        : column.key === "outcome" ? page.states[data.state[row]][2] : column.cells[row]);
      return [["id", ...data.columns.map(({ key }) => key), "details"],
        ...this.rows.map((row) => [name(data, row), ...data.columns.map((column) => cell(column, row)), data.columns.at(-1).cells[row]])];
    }

    clicked(event) {
      const row = event.target.closest("tr.row");
      if (!row || event.target.closest(".tag") || !getSelection().isCollapsed) return;
      const at = Number(row.dataset.row);
      change({ open: at === state.open ? null : at });
      this.focus(this.rows.indexOf(at));
    }

    move(by) {
      const on = document.activeElement?.closest?.("tr.row");
      this.focus(on ? this.at + by : this.at);
    }

    // Scrolls only as far as it must; an opened row comes to the top where its detail would not fit.
    focus(to) {
      if (!this.rows.length) return;
      const at = Math.max(0, Math.min(to, this.rows.length - 1));
      if (!this.made.get(this.rows[at])?.isConnected) this.rest();
      if (at < this.first || at >= this.first + PAGE) this.turn(at);
      const button = (place) => this.made.get(this.rows[place])?.querySelector("button");
      button(this.at)?.setAttribute("tabindex", -1);
      this.at = at;
      button(at).tabIndex = 0;
      button(at).focus({ preventScroll: true });
      if (this.rows[at] === this.opened) this.detail.scrollIntoView({ block: "nearest" });
      this.made.get(this.rows[at]).scrollIntoView({ block: "nearest" });
    }
  }

  const cut = (text) => (text.length > LEAD ? `${text.slice(0, LEAD).trim()}…` : text);
  const titled = (about, label) => (about && about !== label ? `${about} ${label}`.trim() : label);
  const css = (column) => (column.number ? "num" : column.key);
  const sided = (column, row) => ["", "good-text", "bad-text"][column.sides?.[row] ?? 0];
  const quoted = (text) => (/\s/.test(text) ? `"${text}"` : text);
  const tagged = (tag) => h("button", { type: "button", class: "tag", dir: "auto", tabindex: -1, title: "show only this tag",
    onclick: () => change({ find: `tag:${quoted(tag)}`, show: "all", open: null }) }, tag);

  // -- what a row opens to ---------------------------------------------------------------------------------------------

  function opened(table, row) {
    const told = table.details[row];
    const { texts } = page;
    const part = (value, make) => (value === undefined ? null : make(value));
    return h("div", { class: "detail" },
      part(told.whole, (text) => h("p", { class: "whole", dir: "auto" }, text)),
      part(told.remarks, (remarks) => remarks.map(([name, text]) => h("p", { class: "why" }, h("b", {}, `${name}: `), h("span", { dir: "auto" }, text)))),
      part(told.fault, (text) => [h("p", {}, h("b", {}, "The retriever did not answer:")), h("pre", { class: "fault", dir: "auto", tabindex: 0 }, text)]),
      part(told.rules, (rules) => h("ul", { class: "rules" }, rules.map(([state, text]) =>
        h("li", {}, stated(page.states[state]), " ", h("span", { dir: "ltr" }, isolated(text)))))),
      asking(),
      (told.rankedBefore && told.before ? lines : (it) => it)(h("div", { class: "sides" },
        part(told.rankedBefore, (words) => h("div", {}, h("h4", {}, "Baseline ", h("small", { class: "muted" }, texts[words])), ranking(told.before, false, table.top, told.ranksBefore, told.chunksBefore))),
        told.ranked || told.missing ? h("div", {},
          part(told.ranked, (words) => [h("h4", {}, "This run ", h("small", { class: "muted" }, texts[words])), ranking(told.now, false, table.top, told.ranks, told.chunks)]),
          part(told.missing, (flat) => [h("h4", {}, "Expected, but not among them ", part(told.listed, (words) => h("small", { class: "muted" }, texts[words]))), ranking(flat, true, 0, null, null, told.whys)])) : null)),
      part(told.fates, (words) => h("p", { class: "fates" }, h("b", {}, "Relevant: "), texts[words])),
      values(table, row),
      elsewhere(table, row),
      h("p", { class: "muted" }, texts[told.place], texts[told.rerun] && [" · rerun: ", h("code", { class: "command" }, texts[told.rerun])]));
  }

  // Of several answers the ranks are medians, of which two may be alike.
  function ranking(flat, missing = false, top = 0, ranks = null, chunks = null, whys = null) {
    if (!flat) return null;
    const { ids, titles, grades, moves, texts } = page;
    const list = h("ol", { class: "documents" });
    const rankOf = (at) => ranks?.[at / 4] ?? at / 4 + 1;
    for (let at = 0; at < flat.length; at += 4) {
      const [css, grade] = grades[flat[at + 1]];
      const rank = missing ? (css === "deep" ? "↓" : "✗") : String(rankOf(at));
      const last = top && rankOf(at) <= top && at + 4 < flat.length && rankOf(at + 4) > top;
      const move = moves[flat[at + 2]];
      const [whole] = chunks?.[at / 4] || []; // of what has no title its text leads
      const lead = titles[flat[at]] || cut(page.wholes[whole] ?? "");
      const score = parseFloat(flat[at + 3]);
      list.append(h("li", { class: last ? `${css} cutoff` : css, title: last ? `counting ends after rank ${top}` : null }, h("span", { class: "rank" }, rank), " ",
        h("span", { class: "document", dir: "auto" }, lead && h("b", {}, lead, " "), h("code", {}, ids[flat[at]])),
        move ? h("span", { class: "move" }, move) : null,
        Number.isFinite(score) ? h("span", { class: "score" }, String(score)) : null,
        h("span", { class: "grade" }, grade), ...shown(page.fields[flat[at]] ?? [], titles[flat[at]]), chunks?.[at / 4] ? chunk(chunks[at / 4]) : null,
        whys?.[at / 4] ? h("span", { class: "below" }, texts[whys[at / 4]]) : null));
      list.lastChild.dataset.document = flat[at];
    }
    return list;
  }

  // The fields that the suite shows of a document: pictures, links that open on a click, and whatever else as text.
  const isPicture = ([name, value]) => /^data:image\//.test(value) || (isAddress(value)
    && (/image|img|picture|photo|thumb/i.test(name) || /\.(jpe?g|png|gif|webp|avif|svg)([?#]|$)/i.test(value)));
  const isAddress = (value) => { try { return /^https?:$/.test(new URL(value).protocol); } catch { return false; } };
  const shown = (fields, title) => {
    const others = fields.filter((field) => field[1] !== title && !isPicture(field));
    return [...fields.filter(isPicture).map(([name, value]) => picture(name, value)),
      others.length ? h("span", { class: "fields" }, others.map(([name, value]) => h("span", {}, h("small", {}, `${name} `),
        isAddress(value) ? h("a", { href: value, target: "_blank", rel: "noopener noreferrer" }, value) : h("span", { dir: "auto" }, value)))) : null];
  };

  // Nothing is asked of another host before somebody presses the button, which names it.
  let pressed = false;
  const picture = (name, value) => {
    const image = h("img", { class: "picture", alt: name, loading: "lazy", "data-src": value });
    if (pressed || value.startsWith("data:")) image.src = value;
    return image;
  };
  function asking() {
    const hosts = new Set(page.fields.flat().filter((field) => isPicture(field) && isAddress(field[1])).map(([, value]) => new URL(value).host));
    if (pressed || !hosts.size) return null;
    const names = [...hosts].slice(0, 3).join(", ") + (hosts.size > 3 ? ` and ${hosts.size - 3} more` : "");
    const press = () => {
      pressed = true;
      document.querySelectorAll("img[data-src]").forEach((image) => { image.src = image.dataset.src; });
      document.querySelectorAll("button.asks").forEach((button) => button.remove());
    };
    return h("button", { type: "button", class: "link asks", onclick: press }, `Show pictures (asks ${names})`);
  }

  // Lines from where each document was to where it is, also among those that are expected; where both stand side by side.
  function lines(sides) {
    const svg = document.getElementById("lines").content.cloneNode(true).firstChild;
    const path = svg.firstChild;
    sides.append(svg);
    const draw = () => {
      const [before, now] = sides.children;
      const box = sides.getBoundingClientRect();
      const apart = now.getBoundingClientRect().left - before.getBoundingClientRect().right;
      const ends = new Map([...now.querySelectorAll("li")].map((item) => [item.dataset.document, item]));
      svg.replaceChildren(...(apart < 8 ? [] : [...before.querySelectorAll("li")]).filter((item) => ends.has(item.dataset.document)).map((item) => {
        const [from, to] = [item, ends.get(item.dataset.document)].map((it) => it.getBoundingClientRect());
        const line = path.cloneNode();
        const [x, y, u, v] = [from.right - box.left, from.top - box.top + 14, to.left - box.left, to.top - box.top + 14];
        line.setAttribute("d", `M${x} ${y}C${(x + u) / 2} ${y} ${(x + u) / 2} ${v} ${u} ${v}`);
        line.setAttribute("class", ends.get(item.dataset.document).className);
        return line;
      }));
    };
    new ResizeObserver(draw).observe(sides);
    return sides;
  }

  // The whole text of a result, folded, with the passages in it marked: drawn once it is opened.
  function chunk([text, id, ...marks]) {
    const body = h("p", { class: "whole", dir: "auto" });
    const draw = () => {
      if (body.firstChild) return;
      const whole = page.wholes[text];
      let at = 0;
      for (let n = 0; n < marks.length; n += 3) {
        body.append(whole.slice(at, marks[n]), h("mark", { class: marks[n + 2] ? null : "part" }, whole.slice(marks[n], marks[n + 1])));
        at = marks[n + 1];
      }
      body.append(whole.slice(at));
    };
    return h("details", { class: "chunk", ontoggle: draw, open: marks.length > 0 }, h("summary", {}, "text of ", h("code", { dir: "auto" }, page.texts[id]), marks.length ? ", with a passage" : ""), body);
  }

  // Every measure's value on both sides, where there are two.
  function values(table, row) {
    if (!table.compared) return null;
    const of = (key) => table.columns.find((column) => column.key === key);
    const measures = table.columns.filter(({ about, key }) => about && about === key);
    return h("table", { class: "values" },
      h("thead", {}, h("tr", {}, ["Measure", "before", "now", "change"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, measures.map(({ key }) => h("tr", {}, h("th", { scope: "row" }, key),
        [`${key} before`, key, `${key} change`].map((of_) => h("td", { class: `num ${sided(of(of_), row)}` }, of(of_).cells[row]))))));
  }

  // The same query as other retrievers answered it.
  function elsewhere(table, row) {
    const links = page.sections.flatMap((other, s) => {
      const at = other === table || other.path !== table.path ? -1 : other.state.findIndex((_, at) => name(other, at) === name(table, row));
      const value = at < 0 ? null : other.columns.find(({ about, key }) => about && about === key);
      return at < 0 ? [] : [h("button", { type: "button", class: "link", onclick: () => change({ s, open: at, show: "all", find: "" }) },
        other.retriever), " ", stated(page.states[other.state[at]]), value ? ` ${value.key} ${value.cells[at]}` : "", h("br")];
    });
    return links.length ? h("p", {}, h("b", {}, "The same query by other retrievers: "), h("br"), links) : null;
  }

  // -- the whole page --------------------------------------------------------------------------------------------------

  const suites = [...document.querySelectorAll("section.suite")];
  const tables = page.sections.map((data, at) => new Table(data, suites[at]));

  // Closed tabs are hidden so that the browser's own search finds what is in them, and opens them.
  const panels = [...document.querySelectorAll("[data-tab]")].map((panel) => {
    const of = suites.indexOf(panel.closest("section.suite"));
    panel.addEventListener("beforematch", () => change({ s: of < 0 ? state.s : of, tab: panel.dataset.tab }));
    return { panel, of, tab: panel.dataset.tab };
  });
  const bar = document.querySelector(".tabs");

  function showTabs() {
    const here = panels.filter(({ of }) => of < 0 || of === state.s);
    const tabs = new Map(here.map(({ tab, panel }) => [tab, panel.dataset.note ?? ""]));
    if (!tabs.has(state.tab)) state.tab = "Overview";
    for (const { panel, of, tab } of panels) {
      if (tab === state.tab && (of < 0 || of === state.s)) panel.removeAttribute("hidden");
      else if (!panel.hidden) panel.setAttribute("hidden", "until-found");
    }
    bar.previousElementSibling.classList.toggle("repeats", state.tab === "Overview");
    const choose = (select) => change({ s: Number(select.value), open: null });
    bar.replaceChildren(
      ...(page.sections.length < 2 ? [] : [h("select", { "aria-label": "Suite and retriever", onchange: (event) => choose(event.target) },
        page.sections.map(({ name }, s) => h("option", { value: s, selected: s === state.s }, name)))]),
      ...[...tabs].map(([tab, note]) => h("button", { type: "button", "data-go": tab, "aria-current": tab === state.tab ? "page" : null,
        onclick: () => { change({ tab }); scrollTo(0, 0); bar.querySelector(`[data-go="${tab}"]`).focus(); } }, tab, note ? h("small", {}, ` ${note}`) : null)));
  }

  function show() {
    showTabs();
    const has = panels.some(({ of, tab }) => of === state.s && tab === state.tab);
    suites.forEach((suite, at) => suite.classList.toggle("away", at !== state.s || !has));
    document.querySelectorAll("nav [data-section]").forEach((link) =>
      link.setAttribute("aria-current", link.dataset.section === suites[state.s].id ? "true" : "false"));
    const table = tables[state.s];
    if (!table) return;
    table.filter();
    table.open();
  }

  function openRow(s, row) {
    change({ s, show: "all", find: "", open: row });
    tables[s].focus(tables[s].rows.indexOf(row));
  }

  document.addEventListener("click", (event) => {
    const filter = event.target.closest("[data-find]");
    if (filter) { // a bar of a chart or a document: its queries
      const s = suites.findIndex(({ id }) => id === filter.closest("section.suite")?.id);
      change({ s: s < 0 ? state.s : s, find: filter.dataset.find, show: "all", open: null });
      tables[state.s].live.scrollIntoView();
      return;
    }
    const target = event.target.closest("[data-query], [data-section]");
    if (!target) return;
    const suite = target.closest("section.suite")?.id ?? target.dataset.section;
    const s = suites.findIndex(({ id }) => id === suite);
    event.preventDefault();
    if (target.dataset.query) openRow(s, Number(target.dataset.query));
    else {
      change({ s, open: null, tab: "Overview" });
      suites[s].scrollIntoView();
    }
  });

  document.querySelectorAll("span[data-find]").forEach((span) =>
    span.replaceWith(h("button", { type: "button", class: "link", dir: "auto", "data-find": span.dataset.find }, span.textContent)));

  document.addEventListener("keydown", (event) => {
    const table = tables[state.s];
    if (!table || event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input, select, textarea");
    const onRow = event.target.closest("tr.row") || event.target === document.body;
    if (event.key === "Escape") {
      if (typing && table.search.value) change({ find: "", open: null }, false);
      else if (typing) event.target.blur();
      else if (state.open !== null) { change({ open: null }); table.focus(table.at); }
      return;
    }
    const by = { j: 1, k: -1, ...(onRow && document.activeElement !== document.body ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
    if (typing && event.target === table.search && event.key === "ArrowDown") table.focus(0);
    else if (typing) return;
    else if (event.key === "/") { change({ tab: "Queries" }); table.search.focus(); table.search.select(); table.live.scrollIntoView({ block: "nearest" }); }
    else if (by) { if (state.tab !== "Queries") change({ tab: "Queries" }); table.move(by); }
    else return;
    event.preventDefault();
  });

  addEventListener("popstate", () => { fromAddress(); show(); });

  document.querySelectorAll(".live").forEach((element) => { element.hidden = false; });
  fromAddress();
  show();
  if (state.open !== null) tables[state.s].focus(tables[state.s].rows.indexOf(state.open));
  document.documentElement.dataset.ready = "true";
  performance.mark("usable");
})();
