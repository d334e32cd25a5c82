// Tabs, the table of queries, and what an opened query shows. All sentences come with the data; text enters the page
// as text only, so nothing in a title or a query can act.
(async () => {
  const root = document.documentElement;
  root.classList.add("js"); // at once, so what is for readers without scripts is never seen
  const page = await unpackData(document.getElementById("data").textContent);

  /** Unpack compressed JSON in base64. Only a stream can, because the page may not use the network. */
  function unpackData(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  }

  const ROWS_PER_PAGE = 100;
  const ENTRIES_PER_DOCUMENT = 5;

  const headings = Object.fromEntries(page.columns.map(({ key, heading }) => [key, heading]));
  const tabButtons = [...document.querySelectorAll("[role=tab]")];
  const tabKeys = tabButtons.map((button) => button.dataset.tab);
  const panels = tabKeys.map((key) => document.getElementById(key));
  const firstFailed = Math.max(0, page.suites.findIndex((suite) => suite.isFailed));

  // -- Texts -----------------------------------------------------------------------------------------

  /** Render a text: strings are our words, lists hold data, which keeps its writing direction to itself. */
  function renderText(parts) {
    if (!parts) return [];
    if (typeof parts === "string") return [parts];
    return parts.map((part) => {
      if (typeof part === "string") return part;
      if (Array.isArray(part)) return createElement("bdi", {}, part[0]);
      return createElement("code", { dir: "auto" }, part.code);
    });
  }

  function flattenText(parts) {
    if (!parts) return "";
    if (typeof parts === "string") return parts;
    return parts.map((part) => part.code ?? (Array.isArray(part) ? part[0] : part)).join("");
  }

  // -- Address: #suite=1&tab=queries&show=worse&find=tag:head&sort=-change&open=q14 --------------------

  const state = { suite: firstFailed, tab: "overview", show: "all", find: "", sort: "", open: "" };

  function readAddress() {
    const address = new URLSearchParams(location.hash.slice(1));
    const suite = Number(address.get("suite") ?? firstFailed);
    state.suite = page.suites[suite] ? suite : firstFailed;
    state.show = page.kinds.includes(address.get("show")) ? address.get("show") : "all";
    state.find = address.get("find") ?? "";
    state.sort = address.get("sort") ?? "";
    state.open = address.get("open") ?? "";
    state.tab = tabKeys.includes(address.get("tab")) ? address.get("tab") : "overview";
  }

  function writeAddress(isNewEntry) {
    const address = new URLSearchParams();
    const defaults = { suite: firstFailed, tab: "overview", show: "all", find: "", sort: "", open: "" };
    for (const [name, value] of Object.entries(state)) {
      if (value !== defaults[name]) address.set(name, value);
    }
    const hash = `#${address}`;
    if (hash === (location.hash || "#")) return;
    history[isNewEntry ? "pushState" : "replaceState"](null, "", hash);
  }

  /** Change what is shown. To filter or open queries is to look at their table. */
  function navigate(changes, isNewEntry = true) {
    const isAboutQueries = ["show", "find", "sort"].some((name) => name in changes) || changes.open;
    Object.assign(state, isAboutQueries ? { tab: "queries" } : {}, changes);
    writeAddress(isNewEntry);
    showPage();
  }

  function showPage() {
    tabButtons.forEach((button, index) => {
      const isSelected = button.dataset.tab === state.tab;
      button.setAttribute("aria-selected", String(isSelected));
      button.tabIndex = isSelected ? 0 : -1;
      // A hidden tab that the browser's own search finds opens by itself.
      if (isSelected) panels[index].removeAttribute("hidden");
      else panels[index].setAttribute("hidden", "until-found");
    });
    // On a phone, the selected tab may be out of sight.
    const selected = tabButtons[tabKeys.indexOf(state.tab)];
    if (state.tab !== "overview") selected.scrollIntoView({ block: "nearest", inline: "nearest" });
    suiteSelect.value = String(state.suite);
    suiteSelect.hidden = page.suites.length < 2;
    if (state.tab === "queries" && page.suites.length) queryTable.show();
  }

  // -- Which queries, in which order ------------------------------------------------------------------

  /** Return tests for the words of a search: words of the query or its id, tag:NAME, doc:ID. */
  function parseSearch(suite, find) {
    const words = find.matchAll(/(?:(tag|doc):)?(?:"([^"]*)"?|(\S+))/gi);
    return [...words].map(([, field, quoted, plain]) => {
      const word = (quoted ?? plain).toLowerCase();
      if (field === "tag") {
        const tags = findNames(page.tags, word);
        return (row) => suite.tags[row].some((tag) => tags.has(tag));
      }
      if (field === "doc") {
        const docs = findNames(page.ids, word);
        return (row) => suite.documents[row].some((value, index) => index % ENTRIES_PER_DOCUMENT === 0 && docs.has(value));
      }
      return (row) => suite.texts[row].toLowerCase().includes(word) || suite.ids[row].toLowerCase().includes(word);
    });
  }

  /** Return the numbers of the names that are a word or, while it is being typed, begin with it. */
  function findNames(names, word) {
    const lowered = names.map((name) => name.toLowerCase());
    const hasExact = lowered.includes(word);
    const matches = lowered.map((name) => (hasExact ? name === word : name.startsWith(word)));
    return new Set(matches.flatMap((isMatch, index) => (isMatch ? [index] : [])));
  }

  /** Return the text of a cell as files and sorting have it. */
  function readCell(suite, key, row) {
    if (key === "query") return suite.texts[row];
    if (key === "tags") return suite.tags[row].map((tag) => page.tags[tag]).join(", ");
    return flattenText(suite.cells[key][row]);
  }

  function sortRows(suite) {
    const key = state.sort.replace(/^-/, "");
    const every = suite.texts.map((_, row) => row);
    if (!page.columns.some((column) => column.key === key)) return every.sort((one, other) => suite.improvements[one] - suite.improvements[other]);
    const texts = suite.texts.map((_, row) => readCell(suite, key, row));
    const withValue = every.filter((row) => texts[row]);
    // Only Python knows the numbers behind formatted cells, so it sends their order.
    const order = suite.orders[key] ?? withValue.sort((one, other) => (texts[one] < texts[other] ? -1 : 1));
    return [...(state.sort.startsWith("-") ? [...order].reverse() : order), ...every.filter((row) => !texts[row])];
  }

  function selectRows(suite) {
    const bit = state.show === "all" ? 0 : 1 << page.kinds.indexOf(state.show);
    const tests = parseSearch(suite, state.find);
    return sortRows(suite).filter((row) => (!bit || suite.kinds[row] & bit) && tests.every((test) => test(row)));
  }

  // -- The table of queries ---------------------------------------------------------------------------

  class QueryTable {
    constructor(container) {
      this.rows = [];
      this.lines = new Map();
      this.position = 0; // of the line that the keyboard is on
      this.search = createElement("input", {
        type: "search",
        placeholder: "words, id, tag:head, doc:sku-7",
        "aria-label": "Search the queries",
        autocomplete: "off",
        spellcheck: "false",
        oninput: () => navigate({ find: this.search.value, open: "" }, false),
      });
      this.chips = createElement("div", { class: "chips flex", role: "group", "aria-label": "Which queries" });
      this.sort = createElement("select", { "aria-label": "Order", class: "order", onchange: () => navigate({ sort: this.sort.value }) }, [
        createElement("option", { value: "" }, "worst first"),
        page.columns.flatMap(({ key, heading }) => [
          createElement("option", { value: key }, `${heading} ↑`),
          createElement("option", { value: `-${key}` }, `${heading} ↓`),
        ]),
      ]);
      this.count = createElement("span", { role: "status" });
      const saveButton = createElement("button", { type: "button", class: "bare link", onclick: () => this.save() }, "Save as CSV");
      this.body = createElement("tbody", { onclick: (event) => this.click(event) });
      this.headings = page.columns.map((column) => this.createHeading(column));
      this.table = createElement("table", { class: "queries" }, [
        createElement("caption", { class: "unseen" }, "Queries"),
        createElement("thead", {}, createElement("tr", {}, this.headings)),
        this.body,
      ]);
      this.empty = createElement("p", { class: "empty", hidden: true }, [
        "No query matches. ",
        createElement("button", { type: "button", class: "bare link", onclick: () => navigate({ show: "all", find: "", open: "" }) }, "Show all queries"),
      ]);
      this.pages = createElement("p", { class: "pages" });
      const card = createElement("div", { class: "card" }, this.table, this.empty, this.pages);
      const tools = createElement("div", { class: "tools flex" }, suiteSelect, this.chips, this.search, this.sort);
      container.append(tools, createElement("p", { class: "found flex" }, this.count, saveButton), card);
      new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.drawMore()).observe(this.pages);
    }

    get suite() {
      return page.suites[state.suite];
    }

    createHeading({ key, heading, isNumber }) {
      const button = createElement("button", { type: "button", class: "bare", onclick: () => navigate({ sort: this.getNextSort(key), open: "" }) }, heading);
      return createElement("th", { scope: "col", class: getColumnClass(key, isNumber), "data-key": key }, button);
    }

    getNextSort(key) {
      if (state.sort === key) return `-${key}`;
      return state.sort === `-${key}` ? "" : key;
    }

    /** Draw the table for the state. Only a change of its filters draws the lines again. */
    show() {
      const filters = JSON.stringify([state.suite, state.show, state.find, state.sort]);
      if (filters !== this.filters) {
        this.filters = filters;
        this.drawTools();
        this.rows = selectRows(this.suite);
        const hasTags = this.suite.tags.some((tags) => tags.length);
        this.table.classList.toggle("without-tags", !hasTags);
        this.lines.clear();
        this.body.replaceChildren();
        this.drawn = 0;
        this.position = 0;
        this.opened = "";
        this.drawMore();
        const total = formatCount(this.suite.texts.length, "query", "queries");
        this.count.textContent = this.rows.length < this.suite.texts.length ? `${this.rows.length.toLocaleString("en")} of ${total}` : total;
        this.empty.hidden = this.rows.length > 0;
        this.table.hidden = !this.rows.length;
      }
      this.showOpened();
    }

    drawTools() {
      if (this.search.value.trim() !== state.find.trim()) this.search.value = state.find;
      this.sort.value = state.sort;
      const counts = page.kinds.map((_, bit) => this.suite.kinds.filter((kinds) => kinds & (1 << bit)).length);
      const createChip = (name, count) =>
        createElement("button", { type: "button", "aria-pressed": String(state.show === name), onclick: () => navigate({ show: name, open: "" }) }, `${name} ${count.toLocaleString("en")}`);
      const chips = page.kinds.map((name, bit) => (counts[bit] ? createChip(name, counts[bit]) : null));
      this.chips.replaceChildren(createChip("all", this.suite.texts.length), ...chips.filter(Boolean));
      for (const heading of this.headings) {
        const { key } = heading.dataset;
        const direction = { [key]: "ascending", [`-${key}`]: "descending" }[state.sort];
        heading.setAttribute("aria-sort", direction ?? "none");
      }
    }

    drawMore() {
      const end = Math.min(this.drawn + ROWS_PER_PAGE, this.rows.length);
      for (; this.drawn < end; this.drawn += 1) this.body.append(this.createLine(this.rows[this.drawn], this.drawn));
      const left = this.rows.length - this.drawn;
      const more = createElement("button", { type: "button", onclick: () => this.drawMore() }, `Show ${formatCount(left, "more query", "more queries")}`);
      this.pages.replaceChildren(...(left ? [more] : []));
    }

    createLine(row, position) {
      const { suite } = this;
      const cells = page.columns.map(({ key, isNumber }) => {
        const attributes = { class: getColumnClass(key, isNumber) };
        if (key === "query") return createElement("th", { ...attributes, scope: "row" }, this.createOpener(row, position));
        if (key === "tags") return createElement("td", attributes, suite.tags[row].flatMap((tag) => [createTag(tag), " "]));
        const text = suite.cells[key][row];
        const improvement = key === "change" && text ? suite.improvements[row] : 0;
        if (improvement) attributes.class += improvement < 0 ? " bad" : " good";
        return createElement("td", { ...attributes, title: isNumber ? null : flattenText(text) || null }, renderText(text));
      });
      const line = createElement("tr", { class: "line", "data-row": row, "data-position": position }, cells);
      this.lines.set(row, line);
      return line;
    }

    createOpener(row, position) {
      const mark = this.suite.kinds[row] & (1 << page.kinds.indexOf("failed"));
      const failed = mark ? createElement("span", { class: "mark FAILED", role: "img", "aria-label": "FAILED" }, page.marks.FAILED, " ") : null;
      const attributes = { type: "button", class: "bare query-text", dir: "auto", "aria-expanded": "false", tabindex: position === this.position ? 0 : -1 };
      return [failed, createElement("button", attributes, this.suite.texts[row])];
    }

    click(event) {
      const line = event.target.closest("tr.line");
      if (!line || event.target.closest(".tag")) return;
      this.position = Number(line.dataset.position);
      this.toggle(Number(line.dataset.row));
    }

    toggle(row) {
      const id = this.suite.ids[row];
      navigate({ open: state.open === id ? "" : id });
    }

    showOpened() {
      if (this.opened === state.open) return;
      this.detail?.remove();
      this.getOpener(this.suite.ids.indexOf(this.opened))?.setAttribute("aria-expanded", "false");
      this.opened = state.open;
      const row = this.suite.ids.indexOf(state.open);
      if (row < 0) return;
      const position = this.rows.indexOf(row);
      if (position < 0) return navigate({ show: "all", find: "" }, false); // a link to a query that the filter hides
      while (this.drawn <= position) this.drawMore();
      const cell = createElement("td", { colspan: page.columns.length }, createDetails(this.suite, row));
      this.detail = createElement("tr", { class: "detail" }, cell);
      this.lines.get(row).after(this.detail);
      this.getOpener(row).setAttribute("aria-expanded", "true");
      this.focus(position);
    }

    getOpener(row) {
      return this.lines.get(row)?.querySelector(".query-text");
    }

    focus(position) {
      if (position < 0 || position >= this.rows.length) return;
      while (this.drawn <= position) this.drawMore();
      this.getOpener(this.rows[this.position])?.setAttribute("tabindex", -1);
      this.position = position;
      const opener = this.getOpener(this.rows[position]);
      opener.setAttribute("tabindex", 0);
      opener.focus({ preventScroll: true });
      opener.scrollIntoView({ block: "nearest" });
    }

    /** Move by some lines, or to the line that the keyboard is on if it is elsewhere. */
    move(step) {
      const isOnLine = document.activeElement?.closest("tr.line");
      this.focus(isOnLine ? this.position + step : this.position);
    }

    save() {
      const { suite } = this;
      const rows = this.rows.map((row) => [suite.ids[row], ...page.columns.map(({ key }) => readCell(suite, key, row))]);
      saveCsv(`${suite.name}.queries.csv`, [["id", ...page.columns.map(({ key }) => key)], ...rows]);
    }
  }

  const getColumnClass = (key, isNumber) => `${key}${isNumber ? " number" : ""}`;

  function createTag(tag) {
    const name = page.tags[tag];
    const search = `tag:${/\s/.test(name) ? `"${name}"` : name}`;
    const attributes = { type: "button", class: "tag", dir: "auto", tabindex: -1, onclick: () => navigate({ find: search, show: "all", open: "" }) };
    return createElement("button", attributes, name);
  }

  // -- An opened query ----------------------------------------------------------------------------------

  function readDocuments(suite, row) {
    const flat = suite.documents[row];
    const documents = [];
    for (let index = 0; index < flat.length; index += ENTRIES_PER_DOCUMENT) {
      const [number, before, now, grade, finding] = flat.slice(index, index + ENTRIES_PER_DOCUMENT);
      const [gradeClass, gradeText] = page.grades[grade];
      const isRelevant = gradeClass.startsWith("grade");
      documents.push({ number, before, now, gradeClass, gradeText, isRelevant, finding: page.texts[finding] });
    }
    return documents;
  }

  function createDetails(suite, row) {
    const details = suite.details[row];
    const documents = readDocuments(suite, row);
    const rankBefore = documents.filter((doc) => doc.before).sort((one, other) => one.before - other.before);
    const rankNow = documents.filter((doc) => doc.now).sort((one, other) => one.now - other.now);
    const missing = documents.filter((doc) => !doc.now && doc.isRelevant);
    const sideNow = createElement("div", { class: "side-now" }, createRanking(page.isOneSearch ? "Now" : headings.now, rankNow, "now", suite.topK));
    if (missing.length) sideNow.append(...createRanking("Relevant, but not retrieved", missing, "missing", 0));
    const isCompared = rankBefore.length > 0;
    const rankings = createElement("div", { class: "rankings" }, [
      isCompared ? createElement("div", { class: "side-before" }, createRanking(page.isOneSearch ? "Before" : headings.before, rankBefore, "before", suite.topK)) : null,
      sideNow,
    ]);
    if (isCompared) drawLines(rankings);
    return createElement("div", { class: "opened-query" }, [
      details.why ? createElement("p", { class: "about" }, "Why: ", createElement("bdi", {}, details.why)) : null,
      details.issue ? createElement("p", { class: "about" }, "Known issue: ", createElement("bdi", {}, details.issue)) : null,
      details.error ? createElement("p", { class: "about bad" }, createElement("bdi", {}, details.error)) : null,
      createParams(details.params ?? []),
      createChecks(details.checks ?? []),
      documents.length ? rankings : null,
      createValues(suite, details.values ?? []),
      createOtherRetrievers(suite, row),
      createElement("p", { class: "about muted" }, [
        renderText(page.texts[details.place]),
        details.rerun ? [" · run again: ", renderText(page.texts[details.rerun])] : [],
      ]),
      details.acceptance ? createAcceptance(details.acceptance) : null,
    ]);
  }

  /** Offer the command that accepts the current ranking of one query, and a button that copies it. */
  function createAcceptance(command) {
    const button = createElement("button", { type: "button" }, "Copy");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command);
      button.textContent = "Copied";
    });
    return createElement("p", { class: "about muted" }, ["Accept only this ranking: ", createElement("code", {}, command), " ", button]);
  }

  function createRanking(title, documents, side, topK) {
    const note = documents.length ? formatCount(documents.length, "document") : "no results";
    const items = documents.map((doc, index) => createDocument(doc, side, index + 1 < documents.length && doc[side] === topK));
    return [createElement("p", { class: "side" }, createElement("b", {}, title), " ", createElement("small", {}, note)), createElement("ol", {}, items)];
  }

  function createDocument(doc, side, isCutoff) {
    const title = page.titles[doc.number];
    const isLost = side === "before" && !doc.now && doc.isRelevant;
    const classes = [isLost || side === "missing" ? "lost" : doc.gradeClass, isCutoff ? "cutoff" : ""];
    const fields = side === "before" ? [] : createFields(page.fields[doc.number] ?? [], title);
    const isFindingShown = doc.finding.length > 0 && side !== "before";
    return createElement("li", { class: classes.join(" ").trim(), "data-doc": doc.number, "data-relevant": doc.isRelevant }, [
      createElement("span", { class: "rank" }, doc[side] ? String(doc[side]) : "–"),
      createElement("span", {}, title ? [createElement("bdi", {}, title), " "] : [], createElement("code", { dir: "auto" }, page.ids[doc.number])),
      createElement("span", { class: "moved" }, describeMove(doc, side)),
      createElement("span", {}, doc.gradeText),
      isFindingShown ? createElement("span", { class: "below" }, renderText(doc.finding)) : null,
      fields,
    ]);
  }

  function describeMove(doc, side) {
    if (side === "before") return doc.now && doc.now !== doc.before ? `→ ${doc.now}` : "";
    const rankBefore = page.isOneSearch ? `was ${doc.before}` : `${doc.before} there`;
    if (side === "missing") return doc.before ? rankBefore : "";
    if (!doc.before) return page.isOneSearch ? "new" : "only here";
    if (doc.before === doc.now) return "";
    return `${doc.now < doc.before ? "▲" : "▼"} ${rankBefore}`;
  }

  function createFields(fields, title) {
    const shown = fields.filter(([, value]) => value !== title);
    return shown.map(([name, value]) => {
      const isLink = /^https?:\/\//.test(value);
      const isPicture = /^data:image\//.test(value);
      const link = isLink ? createElement("a", { href: value, target: "_blank", rel: "noopener noreferrer" }, value) : null;
      const picture = isPicture ? createElement("img", { src: value, alt: name, height: 64 }) : null;
      return createElement("span", { class: "below" }, `${name}: `, link ?? picture ?? createElement("bdi", {}, value));
    });
  }

  /** Draw lines from where documents were to where they are, if both rankings are side by side. */
  function drawLines(rankings) {
    const namespace = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(namespace, "svg");
    svg.setAttribute("class", "lines");
    svg.setAttribute("aria-hidden", "true");
    rankings.append(svg);
    const draw = () => {
      svg.replaceChildren();
      const box = rankings.getBoundingClientRect();
      for (const start of rankings.querySelectorAll(".side-before li")) {
        const end = rankings.querySelector(`.side-now li[data-doc="${start.dataset.doc}"]`);
        if (!end) continue;
        const from = start.getBoundingClientRect();
        const to = end.getBoundingClientRect();
        if (to.left <= from.right) return; // one above the other, as on a phone
        const [x1, y1] = [from.right - box.left + 4, from.top - box.top + 14];
        const [x2, y2] = [to.left - box.left - 4, to.top - box.top + 14];
        const middle = (x1 + x2) / 2;
        const path = document.createElementNS(namespace, "path");
        path.setAttribute("d", `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`);
        if (start.hasAttribute("data-relevant")) path.setAttribute("class", "is-relevant");
        svg.append(path);
      }
    };
    new ResizeObserver(draw).observe(rankings);
  }

  function createChecks(checks) {
    if (!checks.length) return null;
    const items = checks.map(([outcome, text]) => createElement("li", {}, [
      createElement("span", { class: `mark ${outcome}`, role: "img", "aria-label": outcome }, page.marks[outcome]),
      " ",
      renderText(page.texts[text]),
    ]));
    return createElement("ul", { class: "about" }, items);
  }

  function createParams(params) {
    if (!params.length) return null;
    const parts = params.flatMap(([name, value], index) => [index ? ", " : "", `${name} = `, createElement("bdi", {}, value)]);
    return createElement("p", { class: "about muted" }, parts);
  }

  function createValues(suite, values) {
    if (!values.length) return null;
    const expand = (cells) => (cells.length === 1 ? [cells[0], cells[0], ""] : cells); // unchanged
    const heading = ["metric", headings.before, headings.now, headings.change].map((text) => createElement("th", { scope: "col" }, text));
    const lines = values.map((cells, index) => createElement("tr", {}, [
      createElement("th", { scope: "row" }, suite.metrics[index + 1]),
      expand(cells).map((cell) => createElement("td", { class: "number" }, cell)),
    ]));
    return createElement("table", { class: "values" }, createElement("thead", {}, createElement("tr", {}, heading)), createElement("tbody", {}, lines));
  }

  /** The same query as other retrievers answered it. */
  function createOtherRetrievers(suite, row) {
    const others = page.suites.flatMap((other, index) => {
      const place = other === suite || other.path !== suite.path ? -1 : other.ids.indexOf(suite.ids[row]);
      if (place < 0) return [];
      const open = () => navigate({ suite: index, open: other.ids[place], show: "all", find: "" });
      return [createElement("button", { type: "button", class: "bare link", onclick: open }, other.retriever), ` ${other.cells.now[place] || "–"} `];
    });
    return others.length ? createElement("p", { class: "about" }, "Other retrievers: ", others) : null;
  }

  // -- The page ---------------------------------------------------------------------------------------

  const suiteSelect = createElement("select", { "aria-label": "Suite", onchange: () => navigate({ suite: Number(suiteSelect.value), open: "" }) },
    page.suites.map(({ label }, index) => createElement("option", { value: index }, label)));
  const queryTable = page.suites.length ? new QueryTable(document.getElementById("live-queries")) : null;

  tabButtons.forEach((button, index) => {
    button.addEventListener("click", () => navigate({ tab: button.dataset.tab }));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabButtons[(index + step + tabButtons.length) % tabButtons.length];
      navigate({ tab: next.dataset.tab });
      next.focus();
    });
    panels[index].setAttribute("role", "tabpanel");
    panels[index].addEventListener("beforematch", () => navigate({ tab: button.dataset.tab }));
  });

  // Rows of the overview open in place, and get both rankings once they are opened.
  for (const row of document.querySelectorAll("details.row")) {
    row.addEventListener("toggle", () => {
      const opened = row.querySelector(".opened");
      if (!row.open || opened.dataset.isDrawn) return;
      opened.dataset.isDrawn = "true";
      opened.replaceChildren(createDetails(page.suites[row.dataset.suite], Number(row.dataset.row)));
    });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !queryTable) return;
    const isTyping = event.target.matches("input, select, textarea");
    const step = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && isTyping) event.target.blur();
    else if (event.key === "Escape" && state.open) navigate({ open: "" });
    else if (isTyping && event.key === "ArrowDown" && event.target === queryTable.search) queryTable.focus(0);
    else if (isTyping) return;
    else if (event.key === "/") {
      navigate({ tab: "queries" });
      queryTable.search.focus();
    } else if (step && (event.key.length === 1 || event.target.closest("tr.line"))) {
      if (state.tab !== "queries") navigate({ tab: "queries" });
      queryTable.move(step);
    } else return;
    event.preventDefault();
  });

  addEventListener("hashchange", () => {
    readAddress();
    showPage();
  });
  addEventListener("popstate", () => {
    readAddress();
    showPage();
  });

  for (const element of document.querySelectorAll(".live")) element.hidden = false;
  readAddress();
  showPage();
  root.dataset.ready = "true";
  performance.mark("usable");
})();
