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
    if (!Array.isArray(parts)) return [parts || ""];
    return parts.map((part) => {
      if (typeof part === "string") return part;
      if (Array.isArray(part)) return createElement("bdi", {}, part[0]);
      return createElement("code", { dir: "ltr" }, part.code);
    });
  }

  function flattenText(parts) {
    if (!Array.isArray(parts)) return parts || "";
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
        const isDocument = (value, index) => index % ENTRIES_PER_DOCUMENT === 0 && docs.has(value);
        return (row) => suite.documents[row].some(isDocument);
      }
      return (row) => suite.texts[row].toLowerCase().includes(word) || suite.ids[row].toLowerCase().includes(word);
    });
  }

  /** Return the numbers of the names that are a word or, while it is being typed, begin with it. */
  function findNames(names, word) {
    const lowered = (names.lowered ??= names.map((name) => name.toLowerCase())); // kept for the next search
    const hasExact = lowered.includes(word);
    const isMatch = (number) => (hasExact ? lowered[number] === word : lowered[number].startsWith(word));
    return new Set([...names.keys()].filter(isMatch));
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
    if (!page.columns.some((column) => column.key === key)) {
      // An unchanged query comes after those that changed and have no value.
      const ranks = suite.improvements.map((value, row) => value + (isKind(suite, row, "unchanged") ? 1e-9 : 0));
      return every.sort((one, other) => ranks[one] - ranks[other]);
    }
    const texts = suite.texts.map((_, row) => readCell(suite, key, row));
    const withValue = every.filter((row) => texts[row]);
    // Only Python knows the numbers behind formatted cells, so it sends their order.
    const order = suite.orders[key] ?? withValue.sort((one, other) => (texts[one] < texts[other] ? -1 : 1));
    return [...(state.sort.startsWith("-") ? [...order].reverse() : order), ...every.filter((row) => !texts[row])];
  }

  const isKind = (suite, row, name) => name === "all" || (suite.kinds[row] & (1 << page.kinds.indexOf(name))) > 0;

  function selectRows(suite) {
    const tests = parseSearch(suite, state.find);
    return sortRows(suite).filter((row) => isKind(suite, row, state.show) && tests.every((test) => test(row)));
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
      const options = page.columns.flatMap(({ key, heading }) => [
        createElement("option", { value: key }, `${heading} ↑`),
        createElement("option", { value: `-${key}` }, `${heading} ↓`),
      ]);
      const sort = () => navigate({ sort: this.sort.value });
      this.sort = createElement("select", { "aria-label": "Order", class: "order", onchange: sort }, [
        createElement("option", { value: "" }, "worst first"),
        options,
      ]);
      this.count = createElement("span", { role: "status" });
      const saveButton = createButton("Save as CSV", () => this.save(), { class: "bare link" });
      this.body = createElement("tbody", { onclick: (event) => this.click(event) });
      this.head = createElement("tr", {});
      this.table = createElement("table", { class: "queries" }, [
        createElement("caption", { class: "unseen" }, "Queries"),
        createElement("thead", {}, this.head),
        this.body,
      ]);
      const showAll = () => navigate({ show: "all", find: "", open: "" });
      const allButton = createButton("Show all queries", showAll, { class: "bare link" });
      this.empty = createElement("p", { class: "quiet", hidden: true }, "No query matches. ", allButton);
      this.pages = createElement("p", { class: "pages" });
      const card = createElement("div", { class: "card" }, this.table, this.empty, this.pages);
      const tools = createElement("div", { class: "tools flex" }, suiteSelect, this.chips, this.search, this.sort);
      container.append(tools, createElement("p", { class: "found flex" }, this.count, saveButton), card);
      const observer = new IntersectionObserver((entries) => {
        if (entries.some((entry) => entry.isIntersecting)) this.drawMore();
      });
      observer.observe(this.pages);
    }

    get suite() {
      return page.suites[state.suite];
    }

    createHeading({ key, heading, isNumber }) {
      const sort = () => {
        navigate({ sort: this.getNextSort(key), open: "" });
        this.head.querySelector(`[data-key="${key}"] button`).focus();
      };
      const direction = { [key]: "ascending", [`-${key}`]: "descending" }[state.sort] ?? "none";
      const attributes = { scope: "col", class: getColumnClass(key, isNumber), "data-key": key, "aria-sort": direction };
      return createElement("th", attributes, createButton(heading, sort, { class: "bare" }));
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
        this.lines.clear();
        this.body.replaceChildren();
        this.drawn = 0;
        this.position = 0;
        this.opened = "";
        this.drawMore();
        const total = this.suite.texts.length;
        const shown = this.rows.length < total ? `${formatNumber(this.rows.length)} of ` : "";
        this.count.textContent = shown + formatCount(total, "query", "queries");
        this.empty.hidden = this.rows.length > 0;
        this.table.hidden = !this.rows.length;
      }
      this.showOpened();
    }

    drawTools() {
      if (this.search.value.trim() !== state.find.trim()) this.search.value = state.find;
      this.sort.value = state.sort;
      const chips = ["all", ...page.kinds].map((name) => {
        const count = this.suite.kinds.filter((_, row) => isKind(this.suite, row, name)).length;
        const attributes = { "aria-pressed": String(state.show === name), hidden: !count };
        return createButton(`${name} ${formatNumber(count)}`, () => navigate({ show: name, open: "" }), attributes);
      });
      this.chips.replaceChildren(...chips);
      const isUsed = ({ key }) => this.suite.texts.some((_, row) => readCell(this.suite, key, row));
      this.columns = page.columns.filter(isUsed);
      this.head.replaceChildren(...this.columns.map((column) => this.createHeading(column)));
    }

    drawMore() {
      const end = Math.min(this.drawn + ROWS_PER_PAGE, this.rows.length);
      for (; this.drawn < end; this.drawn += 1) this.body.append(this.createLine(this.rows[this.drawn], this.drawn));
      const left = this.rows.length - this.drawn;
      const more = createButton(`Show ${formatCount(left, "more query", "more queries")}`, () => this.drawMore());
      this.pages.replaceChildren(...(left ? [more] : []));
    }

    createLine(row, position) {
      const { suite } = this;
      const cells = this.columns.map(({ key, isNumber }) => {
        const attributes = { class: getColumnClass(key, isNumber) };
        if (key === "query") return createElement("th", { ...attributes, scope: "row" }, this.createOpener(row, position));
        if (key === "tags") return createElement("td", attributes, suite.tags[row].map(createTag));
        const text = suite.cells[key][row];
        const isUnchanged = key === "moved" && !text && isKind(suite, row, "unchanged");
        if (isUnchanged) return createElement("td", { class: "moved muted" }, "unchanged");
        const improvement = key === "change" && text ? suite.improvements[row] : 0;
        if (improvement) attributes.class += improvement < 0 ? " bad" : " good";
        if (!isNumber && text) attributes.title = flattenText(text);
        return createElement("td", attributes, renderText(text));
      });
      const line = createElement("tr", { class: "line", "data-row": row, "data-position": position }, cells);
      this.lines.set(row, line);
      return line;
    }

    createOpener(row, position) {
      const tabindex = position === this.position ? 0 : -1;
      const attributes = { class: "bare query-text", dir: "auto", "aria-expanded": "false", tabindex };
      const opener = createButton(this.suite.texts[row], null, attributes);
      return isKind(this.suite, row, "failed") ? [createMark("FAILED"), opener] : opener;
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
      const cell = createElement("td", { colspan: this.columns.length }, createDetails(this.suite, row));
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
      const keys = page.columns.map(({ key }) => key);
      const rows = this.rows.map((row) => [suite.ids[row], ...keys.map((key) => readCell(suite, key, row))]);
      saveCsv(`${suite.name}.queries.csv`, [["id", ...keys], ...rows]);
    }
  }

  const getColumnClass = (key, isNumber) => `${key}${isNumber ? " number" : ""}`;

  function createTag(tag) {
    const name = page.tags[tag];
    const find = `tag:${/\s/.test(name) ? `"${name}"` : name}`;
    const search = () => navigate({ find, show: "all", open: "" });
    return [createButton(name, search, { class: "tag", dir: "auto", tabindex: -1 }), " "];
  }

  function createMark(outcome) {
    const attributes = { class: `mark ${outcome}`, role: "img", "aria-label": outcome };
    return createElement("span", attributes, page.marks[outcome], " ");
  }

  // -- An opened query ----------------------------------------------------------------------------------

  function readDocuments(suite, row) {
    const flat = suite.documents[row];
    const documents = [];
    for (let index = 0; index < flat.length; index += ENTRIES_PER_DOCUMENT) {
      const [number, before, now, grade, text] = flat.slice(index, index + ENTRIES_PER_DOCUMENT);
      const [gradeClass, gradeText] = page.grades[grade];
      const isRelevant = gradeClass.startsWith("grade");
      const [id, title, finding] = [page.ids[number], page.titles[number], page.texts[text]];
      documents.push({ number, id, title, before, now, gradeClass, gradeText, isRelevant, finding });
    }
    return documents;
  }

  function createDetails(suite, row) {
    const details = suite.details[row];
    return createElement("div", { class: "opened-query" }, [
      details.why ? createAbout("Why: ", createElement("bdi", {}, details.why)) : null,
      details.issue ? createAbout("Known issue: ", createElement("bdi", {}, details.issue)) : null,
      details.error ? createAbout(createElement("bdi", { class: "bad" }, details.error)) : null,
      details.params ? createAbout(details.params.map(([name, value]) => createParam(name, value))) : null,
      createChecks(details.checks ?? []),
      createRankings(suite, row),
      createValues(suite, row),
      createOtherRetrievers(suite, row),
      createAbout("Written at ", renderText(page.texts[details.place])),
      createCommand("Run again: ", flattenText(page.texts[details.rerun])),
      createCommand("Accept only this ranking: ", details.acceptance),
    ]);
  }

  const createAbout = (...children) => createElement("p", { class: "about" }, children);

  function createParam(name, value) {
    return createElement("span", { class: "tag" }, `${name} = `, createElement("bdi", {}, value));
  }

  function createCommand(label, command) {
    if (!command) return null;
    return createElement("div", { class: "about command-line" }, [
      createElement("span", {}, label, createElement("code", {}, command)),
      createButton("Copy", null, { class: "copy", "data-copy": command }),
    ]);
  }

  function createChecks(checks) {
    if (!checks.length) return null;
    const createCheck = ([outcome, text]) => createElement("li", {}, createMark(outcome), renderText(page.texts[text]));
    return createElement("ul", { class: "about" }, checks.map(createCheck));
  }

  /** Create both rankings side by side, or only the current one if there is nothing to compare it with. */
  function createRankings(suite, row) {
    const documents = readDocuments(suite, row);
    const cells = suite.cells;
    const sideNow = createSide(suite, page.isOneSearch ? "Now" : headings.now, documents, "now", cells.now[row]);
    const missing = documents.filter((doc) => !doc.now && doc.isRelevant);
    if (missing.length) {
      const items = missing.map((doc) => createDocument(suite, doc, "missing"));
      const title = createElement("h3", {}, "Relevant, but not retrieved");
      sideNow.append(title, createHead("now"), createElement("ol", {}, items));
    }
    if (!documents.some((doc) => doc.before) && !cells.before[row]) {
      return documents.length ? createElement("div", { class: "rankings" }, sideNow) : null;
    }
    const title = page.isOneSearch ? "Before" : headings.before;
    const rankings = createElement("div", { class: "rankings" }, [
      createSide(suite, title, documents, "before", cells.before[row]),
      sideNow,
    ]);
    markParts(rankings, missing);
    drawLines(rankings);
    return rankings;
  }

  /** Create the ranking of one side, "before" or "now", with the value of the primary metric. */
  function createSide(suite, title, documents, side, value) {
    const ranked = documents.filter((doc) => doc[side]).sort((one, other) => one[side] - other[side]);
    const note = value ? `${suite.metrics[0]} ${value}` : "";
    const items = ranked.map((doc, index) => {
      const isCutoff = doc[side] === suite.topK && index + 1 < ranked.length;
      return createDocument(suite, doc, side, isCutoff);
    });
    return createElement("div", { class: `side-${side}` }, [
      createElement("h3", {}, title, " ", createElement("small", {}, note)),
      items.length ? createHead(side) : createElement("p", {}, "Nothing is returned."),
      createElement("ol", {}, items),
    ]);
  }

  /** Create the headings of a ranking's columns. The third is the rank on the other side. */
  function createHead(side) {
    const otherSides = page.isOneSearch ? { before: "now", now: "before" } : { before: "here", now: "there" };
    const names = ["rank", "document", otherSides[side], "grade"].map((name) => createElement("span", {}, name));
    return createElement("small", { class: "names", "aria-hidden": "true" }, names);
  }

  function createDocument(suite, doc, side, isCutoff = false) {
    const classes = [side === "missing" ? "lost" : doc.gradeClass, isCutoff ? "cutoff" : ""];
    const attributes = { class: classes.join(" ").trim(), "data-doc": doc.number, "data-relevant": doc.isRelevant };
    const grade = doc.gradeClass === "unjudged" ? "–" : doc.gradeText;
    return createElement("li", attributes, [
      createElement("span", { class: "rank muted" }, doc[side] ? String(doc[side]) : "–"),
      createContent(suite, doc, side),
      createOtherRank(doc, side),
      createElement("span", { title: doc.gradeText }, createElement("span", { class: "unseen" }, "grade "), grade),
    ]);
  }

  /** Create the rank on the other side, with the direction in which the document moved. */
  function createOtherRank(doc, side) {
    if (side === "before" && !doc.now && doc.isRelevant) return createElement("span", { class: "bad" }, "lost");
    if (side === "now" && !doc.before && page.isOneSearch) return createElement("span", {}, "new");
    const other = side === "before" ? doc.now : doc.before;
    const hasMoved = doc.before && doc.now && doc.before !== doc.now;
    const arrow = side === "now" && hasMoved ? (doc.now < doc.before ? "▲ " : "▼ ") : "";
    return createElement("span", { class: hasMoved ? null : "muted" }, `${arrow}${other || "–"}`);
  }

  /** Create what a document is: its pictures, title and id, and below them its fields or text. */
  function createContent(suite, doc, side) {
    const fields = (page.fields[doc.number] ?? []).filter(([, value]) => value !== doc.title);
    const pictures = fields.filter(([, value]) => isPicture(value));
    const others = fields.filter(([name, value]) => !isPicture(value) && (name || side === "now"));
    const isPassage = suite.hasPassages && doc.gradeClass !== "unjudged";
    const hasFinding = doc.finding.length > 0 && side !== "before";
    return createElement("div", { class: "content" }, [
      pictures.map(([name, value]) => createElement("img", { src: value, alt: name })),
      createElement("div", {}, [
        doc.title ? [createElement("bdi", {}, doc.title), " "] : [],
        createElement(isPassage ? "bdi" : "code", {}, doc.id),
        others.length ? createElement("small", { class: "fields" }, others.map(createField)) : null,
        hasFinding ? createFinding(renderText(doc.finding)) : null,
      ]),
    ]);
  }

  const createFinding = (content) => createElement("small", { class: "finding" }, content);

  const isPicture = (value) => value.startsWith("data:image/");

  /** Create a field. A number or a word such as "True" needs the name of the field, and a link is its name. */
  function createField([name, value]) {
    const isLink = /^https?:\/\//.test(value);
    if (isLink) return createElement("a", { href: value, target: "_blank", rel: "noopener noreferrer" }, name);
    const label = name && /^(?:[-\d.,]+|True|False)$/.test(value) ? `${name}: ` : "";
    return createElement("span", { title: name || null }, label, createElement("bdi", {}, value));
  }

  /** Mark the chunks that hold a part of a passage that no chunk holds completely. */
  function markParts(rankings, missing) {
    for (const passage of missing) {
      const chunks = passage.finding.filter(Array.isArray).map(([id]) => page.ids.indexOf(id));
      for (const item of rankings.querySelectorAll(".side-now li")) {
        if (!chunks.includes(Number(item.dataset.doc))) continue;
        item.dataset.passage = passage.number;
        item.querySelector(".content > div").append(createFinding("has a part of the passage"));
      }
    }
  }

  /** Draw lines from where documents were to where they are, if both rankings are side by side. */
  function drawLines(rankings) {
    const namespace = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(namespace, "svg");
    svg.setAttribute("class", "lines");
    svg.setAttribute("aria-hidden", "true");
    rankings.append(svg);

    const drawLine = (box, from, to, isRelevant) => {
      const [x1, y1] = [from.right - box.left + 4, from.top - box.top + 14];
      const [x2, y2] = [to.left - box.left - 4, to.top - box.top + 14];
      const middle = (x1 + x2) / 2;
      const path = document.createElementNS(namespace, "path");
      path.setAttribute("d", `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`);
      if (isRelevant) path.setAttribute("class", "is-relevant");
      svg.append(path);
    };

    const draw = () => {
      svg.replaceChildren();
      const box = rankings.getBoundingClientRect();
      for (const start of rankings.querySelectorAll(".side-before li")) {
        const number = start.dataset.doc;
        const parts = rankings.querySelectorAll(`[data-passage="${number}"]`);
        const ends = parts.length ? parts : rankings.querySelectorAll(`.side-now [data-doc="${number}"]`);
        const from = start.getBoundingClientRect();
        for (const end of ends) {
          const to = end.getBoundingClientRect();
          if (to.left <= from.right) return; // one above the other, as on a phone
          drawLine(box, from, to, start.hasAttribute("data-relevant"));
        }
      }
    };
    new ResizeObserver(draw).observe(rankings);
  }

  /** Create the table of all metrics. Its first row, the primary metric, is in the table of queries. */
  function createValues(suite, row) {
    const primary = ["before", "now", "change"].map((key) => flattenText(suite.cells[key][row]));
    const others = suite.details[row].values ?? [];
    if (!primary[1] && !others.length) return null;
    const expand = (cells) => (cells.length === 1 ? [cells[0], cells[0], ""] : cells); // unchanged
    const names = ["metric", headings.before, headings.now, headings.change];
    const lines = [primary, ...others].map((cells, index) => createElement("tr", {}, [
      createElement("th", { scope: "row" }, suite.metrics[index]),
      expand(cells).map((cell) => createElement("td", { class: "number" }, cell)),
    ]));
    const createName = (text, index) => createElement("th", { scope: "col", class: index ? "number" : null }, text);
    return createElement("table", { class: "values" }, [
      createElement("thead", {}, createElement("tr", {}, names.map(createName))),
      createElement("tbody", {}, lines),
    ]);
  }

  /** The same query as other retrievers answered it. */
  function createOtherRetrievers(suite, row) {
    const others = page.suites.flatMap((other, index) => {
      const place = other === suite || other.path !== suite.path ? -1 : other.ids.indexOf(suite.ids[row]);
      if (place < 0) return [];
      const open = () => navigate({ suite: index, open: other.ids[place], show: "all", find: "" });
      return [createButton(other.retriever, open, { class: "bare link" }), ` ${other.cells.now[place] || "–"} `];
    });
    return others.length ? createAbout("Other retrievers: ", others) : null;
  }

  // -- The page ---------------------------------------------------------------------------------------

  const selectSuite = () => navigate({ suite: Number(suiteSelect.value), open: "" });
  const suiteOptions = page.suites.map(({ label }, index) => createElement("option", { value: index }, label));
  const suiteSelect = createElement("select", { "aria-label": "Suite", onchange: selectSuite }, suiteOptions);
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

  document.addEventListener("click", async ({ target }) => {
    if (!target.matches(".copy")) return;
    await navigator.clipboard.writeText(target.dataset.copy);
    target.textContent = "Copied";
  });

  /** Move to another row of the overview's cards or, on other tabs, to another line of the table of queries. */
  function moveFocus(step) {
    const rows = state.tab === "overview" ? [...document.querySelectorAll("details.row > summary")] : [];
    if (rows.length) {
      const position = rows.indexOf(document.activeElement) + step;
      rows[Math.min(Math.max(position, 0), rows.length - 1)].focus();
    } else {
      navigate({ tab: "queries" });
      queryTable.move(step);
    }
  }

  /** Act on a key, and return whether it means anything where it was pressed. */
  function pressKey({ key, target }) {
    const isTyping = target.matches("input, select, textarea");
    const step = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[key];
    if (key === "Escape" && isTyping) target.blur();
    else if (key === "Escape" && state.open) navigate({ open: "" });
    else if (key === "ArrowDown" && target === queryTable.search) queryTable.focus(0);
    else if (isTyping) return false;
    else if (key === "/") {
      navigate({ tab: "queries" });
      queryTable.search.focus();
    } else if (step && (key.length === 1 || target.closest("tr.line"))) moveFocus(step);
    else return false;
    return true;
  }

  document.addEventListener("keydown", (event) => {
    const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
    if (!hasModifier && queryTable && pressKey(event)) event.preventDefault();
  });

  function openAddress() {
    readAddress();
    showPage();
  }

  addEventListener("hashchange", openAddress);
  addEventListener("popstate", openAddress);
  for (const element of document.querySelectorAll(".live")) element.hidden = false;
  openAddress();
  root.dataset.ready = "true";
  performance.mark("usable");
})();
