"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const CANNOT_TELL = null; // a record without a grade: it was looked at
  const COLUMNS = data.columns;
  const FORMULA = /^'*[=+\-@\t\r]/; // what a spreadsheet would take for a formula
  const PAUSE = 120e3; // a longer gap between two grades was a pause

  const state = {
    judge: "", all: false, queries: [], at: 0, active: 0, records: new Map(), skipped: new Set(),
    undo: [], times: [], keys: true, failed: false, pending: 0, started: false,
  };

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") element.className = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  const grouped = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
  const many = (n, one, more) => `${grouped(n)} ${n === 1 ? one : more}`;
  const keyOf = (query, document) => JSON.stringify([query, document]);

  // -- what is kept ---------------------------------------------------------------------------------

  // One entry a document. "strict": it is on the disk when the browser says that it is kept.
  const opened = new Promise((resolve, reject) => {
    const request = indexedDB.open("pytest-irquality", 1);
    request.onupgradeneeded = () =>
      request.result.createObjectStore("grades", { keyPath: ["suite", "judge", "query", "document"] });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  opened.catch(() => undefined);

  const warn = () => {
    state.failed = true;
    $("warning").textContent = "This browser does not keep your grades. Save the file before you close the page.";
    $("warning").hidden = false;
  };

  const store = async (change) => {
    state.pending += 1;
    try {
      const db = await opened;
      await new Promise((resolve, reject) => {
        const transaction = db.transaction("grades", "readwrite", { durability: "strict" });
        transaction.oncomplete = resolve;
        transaction.onerror = transaction.onabort = () => reject(transaction.error);
        change(transaction.objectStore("grades"));
      });
    } catch {
      warn();
    } finally {
      state.pending -= 1;
      if (!state.pending) document.documentElement.dataset.kept = "yes";
    }
  };

  const kept = async (judge) => {
    const db = await opened;
    return new Promise((resolve, reject) => {
      const range = IDBKeyRange.bound([data.suite, judge], [data.suite, judge, []]);
      const request = db.transaction("grades").objectStore("grades").getAll(range);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  };

  /** Set or remove (record undefined) what is known of a document, here and in the browser. */
  const keep = (query, id, record) => {
    const key = keyOf(query.id, id);
    delete document.documentElement.dataset.kept;
    if (record) {
      const whole = { suite: data.suite, judge: state.judge, query: query.id, document: id, text: query.text, ...record };
      state.records.set(key, whole);
      return store((grades) => grades.put(whole));
    }
    state.records.delete(key);
    return store((grades) => grades.delete([data.suite, state.judge, query.id, id]));
  };

  const recalled = (name) => { try { return localStorage.getItem(`irquality ${name}`) || ""; } catch { return ""; } };
  const remember = (name, value) => { try { localStorage.setItem(`irquality ${name}`, value); } catch { /* a comfort only */ } };

  // -- what there is to grade -----------------------------------------------------------------------

  /** A number from a text, and from that number a shuffle: the same for a judge at every visit. */
  const shuffled = (documents, seed) => {
    let hash = 2166136261;
    for (const character of seed) hash = Math.imul(hash ^ character.codePointAt(0), 16777619);
    const random = () => {
      hash = (hash + 0x6d2b79f5) | 0;
      let mixed = Math.imul(hash ^ (hash >>> 15), 1 | hash);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
    const order = [...documents];
    for (let last = order.length - 1; last > 0; last -= 1) {
      const other = Math.floor(random() * (last + 1));
      [order[last], order[other]] = [order[other], order[last]];
    }
    return order;
  };

  const toGrade = (document, judge, all) => (all ? !document.judges.includes(judge) : !document.judges.length);
  const choose = (judge, all) =>
    data.queries
      .map((query) => ({
        ...query,
        documents: shuffled(query.documents.filter((one) => toGrade(one, judge, all)), `${query.id}\n${judge}`),
      }))
      .filter((query) => query.documents.length);

  const recordOf = (query, document) => state.records.get(keyOf(query.id, document.id));
  const isDone = (query, document) => recordOf(query, document)?.grade !== undefined;
  const doneIn = (query) => query.documents.filter((document) => isDone(query, document)).length;
  const here = () => state.queries[state.at];
  const scaleOf = (query) => data.scales[query.scale];
  const levelOf = (scale, grade) => {
    const place = scale.findIndex((one) => one.grade === grade);
    return place < 0 ? 0 : Math.round((4 * place) / Math.max(1, scale.length - 1));
  };

  // -- drawing --------------------------------------------------------------------------------------

  const marker = (query) => {
    const words = [...new Set(query.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean))];
    const long = words.filter((word) => word.length > 2 || /[^\p{Script=Latin}]/u.test(word));
    const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
    const parts = (long.length ? long : words).map((word) =>
      unspaced.test(word) ? word : `(?<![\\p{L}\\p{N}])${word}\\p{L}{0,2}(?![\\p{L}\\p{N}])`);
    return parts.length ? new RegExp(parts.join("|"), "giu") : null;
  };

  const marked = (text, pattern) => {
    const fragment = document.createDocumentFragment();
    let end = 0;
    for (const found of pattern ? text.matchAll(pattern) : []) {
      fragment.append(text.slice(end, found.index), make("mark", {}, found[0]));
      end = found.index + found[0].length;
    }
    fragment.append(text.slice(end));
    return fragment;
  };

  const button = (label, key, attributes) =>
    make("button", { type: "button", ...attributes }, label, key ? make("kbd", { "aria-hidden": "true" }, key) : null);

  const chip = (query, document) => {
    const record = recordOf(query, document);
    if (record?.grade === CANNOT_TELL) return make("span", { class: "chip ask" }, "cannot tell");
    if (record?.grade === undefined) {
      return make("span", { class: "chip" }, state.skipped.has(keyOf(query.id, document.id)) ? "skipped" : "not graded");
    }
    const scale = scaleOf(query);
    const word = scale.find((one) => one.grade === record.grade)?.word ?? String(record.grade);
    return make("span", { class: "chip", "data-level": levelOf(scale, record.grade) }, word);
  };

  const closed = (query, document, place) =>
    make("li", { class: "card" },
      make("button", { type: "button", class: "open", onclick: () => activate(place, true) },
        make("span", { dir: "auto" }, document.title || document.id), chip(query, document)));

  const pictures = (document) => {
    const shown = document.fields.filter(([, , image]) => image);
    if (!shown.length) return null;
    return make("div", { class: "pictures" },
      ...shown.map(([name, value]) => make("img", { src: value, alt: `${name} of this document`, loading: "lazy", referrerpolicy: "no-referrer" })));
  };

  const fields = (document) => {
    const shown = document.fields.filter(([, , image]) => !image);
    if (!shown.length) return null;
    return make("dl", { class: "fields" },
      ...shown.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", { dir: "auto" }, value))));
  };

  const dock = (query, document) => {
    const record = recordOf(query, document);
    const scale = scaleOf(query);
    const grades = scale.map((one) =>
      button(one.word, one.key, {
        class: "grade", "data-level": levelOf(scale, one.grade), "aria-pressed": String(record?.grade === one.grade),
        onclick: () => give(one.grade),
      }));
    const others = [
      button("Cannot tell", "x", { "aria-pressed": String(record?.grade === CANNOT_TELL), onclick: () => give(CANNOT_TELL) }),
      button("Skip", "s", { onclick: skip }),
      button("Note", "n", { "aria-expanded": String(Boolean(record?.note)), class: "add-note", onclick: note }),
    ];
    return make("div", { class: "dock" },
      make("div", { class: "grades", role: "group", "aria-label": "Grade" }, ...grades),
      make("div", { class: "others", role: "group", "aria-label": "Other answers" }, ...others));
  };

  const noteField = (query, document) => {
    const area = make("textarea", { rows: 2, maxlength: 2000, "aria-label": "Note on this document" });
    area.value = recordOf(query, document)?.note ?? "";
    area.addEventListener("input", () => {
      const before = recordOf(query, document);
      const record = { grade: before?.grade, date: before?.date ?? now(), note: area.value };
      keep(query, document.id, record.note || record.grade !== undefined ? record : undefined);
    });
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") area.closest(".card").focus();
    });
    return make("label", { class: "note" }, make("span", {}, "Note"), area);
  };

  const open = (query, document, place) => {
    const pattern = marker(query.text);
    const title = make("h2", { id: "title", dir: "auto" }, marked(document.title || document.id, pattern));
    const card = make("li", { class: "card active", tabindex: "-1", "aria-labelledby": "where title" },
      make("span", { class: "where", id: "where" }, `Document ${place + 1} of ${query.documents.length}`), title,
      document.title ? make("p", { class: "id" }, document.id) : null, pictures(document), fields(document));
    if (document.text && document.text !== document.title) {
      const text = make("div", { class: "text folded", dir: "auto", id: "text" }, marked(document.text, pattern));
      const more = button("Show all of it", "t", { class: "more", "aria-expanded": "false", "aria-controls": "text", hidden: true });
      more.addEventListener("click", () => {
        const folded = text.classList.toggle("folded");
        more.setAttribute("aria-expanded", String(!folded));
        more.firstChild.textContent = folded ? "Show all of it" : "Show less";
      });
      card.append(text, more);
    }
    card.append(dock(query, document));
    if (recordOf(query, document)?.note) card.append(noteField(query, document));
    return card;
  };

  const active = () => $("documents").children[state.active];

  const drawCard = (place, asActive) => {
    const query = here();
    const card = (asActive ? open : closed)(query, query.documents[place], place);
    $("documents").children[place].replaceWith(card);
    const text = card.querySelector(".text");
    if (text) card.querySelector(".more").hidden = text.scrollHeight <= text.clientHeight + 2;
    return card;
  };

  const drawQuery = () => {
    const query = here();
    $("place").textContent = `Query ${state.at + 1} of ${state.queries.length}`;
    $("tags").replaceChildren(...query.tags.map((tag) => make("span", { dir: "auto" }, tag)));
    $("query").textContent = query.text;
    $("why").textContent = query.why;
    $("why").hidden = !query.why;
    $("task").textContent = "How well does each document answer this search?";
    $("asked").classList.remove("arrives");
    void $("asked").offsetWidth; // begins the animation anew
    $("asked").classList.add("arrives");
    $("documents").replaceChildren(...query.documents.map((document, place) => closed(query, document, place)));
    $("previous").disabled = state.at === 0;
    $("next").disabled = state.at === state.queries.length - 1;
    for (const current of $("queries").querySelectorAll("[aria-current]")) current.removeAttribute("aria-current");
    const entry = $("queries").children[state.at]?.firstChild;
    entry?.setAttribute("aria-current", "true");
    entry?.scrollIntoView({ block: "nearest" });
  };

  const drawCount = (query = here()) => {
    const entry = $("queries").children[state.queries.indexOf(query)]?.firstChild;
    if (entry) {
      const done = doneIn(query);
      entry.lastChild.textContent = done === query.documents.length ? "✓ done" : `${done} of ${query.documents.length}`;
      entry.classList.toggle("all", done === query.documents.length);
    }
    $("bar").max = Math.max(1, state.total);
    $("bar").value = state.done;
    $("count").textContent = `${grouped(state.done)} of ${grouped(state.total)} graded${timeLeft()}`;
    $("undo").disabled = !state.undo.length;
    $("done").hidden = state.total === 0 || state.done < state.total;
  };

  const timeLeft = () => {
    const gaps = state.times.slice(1).map((time, n) => time - state.times[n]).filter((gap) => gap < PAUSE);
    const left = state.total - state.done;
    if (gaps.length < 4 || !left) return "";
    const usual = gaps.slice(-30).sort((one, other) => one - other)[Math.floor(Math.min(30, gaps.length) / 2)];
    const minutes = Math.ceil((left * usual) / 60e3);
    return ` · about ${minutes < 90 ? many(minutes, "minute", "minutes") : many(Math.round(minutes / 60), "hour", "hours")} left`;
  };

  const count = () => {
    state.total = state.queries.reduce((sum, query) => sum + query.documents.length, 0);
    state.done = state.queries.reduce((sum, query) => sum + doneIn(query), 0);
  };

  const say = (text) => { $("said").textContent = text; };

  // -- moving ---------------------------------------------------------------------------------------

  const activate = (place, focus = false) => {
    const before = state.active;
    if (before !== place && $("documents").children[before]?.classList.contains("active")) drawCard(before, false);
    state.active = place;
    const card = drawCard(place, true);
    if (focus) {
      card.focus({ preventScroll: true });
      // A new query is seen with its words.
      (place === 0 ? $("asked") : card).scrollIntoView({ block: place === 0 ? "end" : "nearest" });
      if (place === 0) window.scrollTo({ top: 0 });
    }
  };

  const visit = (at, place) => {
    state.at = at;
    drawQuery();
    state.active = 0;
    const query = here();
    const firstOpen = query.documents.findIndex((document) => !isDone(query, document));
    activate(place ?? Math.max(0, firstOpen), state.started);
    drawCount();
    $("list").classList.remove("open");
    $("list-open").setAttribute("aria-expanded", "false");
  };

  /** The next document without a grade, in this query and then in those after it; skipped ones last. */
  const advance = (from) => {
    const isOpen = (query, document, skipped) =>
      !isDone(query, document) && (skipped || !state.skipped.has(keyOf(query.id, document.id)));
    for (const skipped of [false, true]) {
      for (let step = 0; step <= state.queries.length; step += 1) {
        const at = (state.at + step) % state.queries.length;
        const query = state.queries[at];
        const places = [...query.documents.keys()];
        const turned = step === 0 ? [...places.slice(from + 1), ...places.slice(0, from)] : places;
        const place = turned.find((one) => isOpen(query, query.documents[one], skipped));
        if (place === undefined) continue;
        if (at === state.at) activate(place, true);
        else {
          visit(at, place);
          say(`Next query: ${query.text}. ${many(query.documents.length, "document", "documents")}.`);
        }
        return;
      }
    }
    activate(from);
    $("done").focus();
    $("done").scrollIntoView({ block: "center" });
    say("All of it is graded.");
  };

  const now = () => new Date().toISOString().replace(/\.\d+Z$/, "Z");

  const give = (grade) => {
    const query = here();
    const document = query.documents[state.active];
    const before = recordOf(query, document);
    state.undo.push({ query: query.id, document: document.id, before });
    if (before?.grade === undefined) state.done += 1;
    state.times.push(Date.now());
    state.skipped.delete(keyOf(query.id, document.id));
    keep(query, document.id, { grade, date: now(), note: before?.note ?? "" });
    const word = grade === CANNOT_TELL ? "cannot tell" : scaleOf(query).find((one) => one.grade === grade).word;
    say(`${word}. ${state.done} of ${state.total} graded.`);
    drawCount();
    advance(state.active);
  };

  const skip = () => {
    const query = here();
    const document = query.documents[state.active];
    if (!isDone(query, document)) state.skipped.add(keyOf(query.id, document.id));
    say("Skipped.");
    advance(state.active);
  };

  const note = () => {
    const card = active();
    if (!card.querySelector("textarea")) card.append(noteField(here(), here().documents[state.active]));
    card.querySelector(".add-note").setAttribute("aria-expanded", "true");
    card.querySelector("textarea").focus();
    card.querySelector("textarea").scrollIntoView({ block: "center" });
  };

  const undo = () => {
    const last = state.undo.pop();
    if (!last) return;
    const at = state.queries.findIndex((query) => query.id === last.query);
    const query = state.queries[at];
    const place = query.documents.findIndex((document) => document.id === last.document);
    if (last.before?.grade === undefined) state.done -= 1;
    const text = recordOf(query, query.documents[place])?.note ?? "";
    keep(query, last.document, last.before ?? (text ? { grade: undefined, date: now(), note: text } : undefined));
    visit(at, place);
    say("Undone.");
  };

  const step = (by) => {
    const place = state.active + by;
    if (place >= 0 && place < here().documents.length) activate(place, true);
    else stepQuery(by, by < 0);
  };

  const stepQuery = (by, last = false) => {
    const at = state.at + by;
    if (at < 0 || at >= state.queries.length) return;
    visit(at, last ? state.queries[at].documents.length - 1 : undefined);
  };

  // -- files ----------------------------------------------------------------------------------------

  const cell = (value) => {
    const text = FORMULA.test(value) ? `'${value}` : value;
    return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  const csv = () => {
    const known = new Set(data.asked);
    const order = new Map(state.queries.flatMap((query) => query.documents.map((one) => keyOf(query.id, one.id))).map((key, n) => [key, n]));
    const records = [...state.records.entries()]
      .filter(([, one]) => one.grade !== undefined && (known.has(one.query) || one.imported))
      .sort(([one], [other]) => (order.get(one) ?? Infinity) - (order.get(other) ?? Infinity) || (one < other ? -1 : 1))
      .map(([, one]) => [one.query, one.text, one.document, one.grade === CANNOT_TELL ? "" : String(one.grade), one.judge, one.date, one.note]);
    return [COLUMNS, ...records].map((row) => `${row.map((value) => cell(value ?? "")).join(",")}\n`).join("");
  };

  const save = () => {
    const judge = state.judge.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "judge";
    const link = make("a", { href: URL.createObjectURL(new Blob([csv()], { type: "text/csv" })), download: `${data.stem}.judgments-${judge}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60e3);
    say(`Saved ${link.download}.`);
  };

  /** The rows of a CSV, cells as they were before `cell`. */
  const rows = (text) => {
    const all = [[]];
    let end = 0;
    for (const found of text.replace(/^\ufeff/, "").matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|\r|$)/gy)) {
      const value = found[1] === undefined ? found[2] : found[1].replaceAll('""', '"');
      all.at(-1).push(value.startsWith("'") && FORMULA.test(value) ? value.slice(1) : value);
      end = found.index + found[0].length;
      if (!found[3]) break;
      if (found[3] !== ",") all.push([]);
    }
    if (end < text.replace(/^\ufeff/, "").length) throw new Error("it is no CSV");
    return all.filter((row) => row.some(Boolean));
  };

  const parsed = (text) => {
    const [header = [], ...lines] = rows(text);
    const place = Object.fromEntries(COLUMNS.map((name) => [name, header.indexOf(name)]));
    if (["query_id", "doc_id", "rating", "judge"].some((name) => place[name] < 0)) {
      throw new Error(`its first line does not name the columns ${COLUMNS.join(", ")}`);
    }
    return lines.map((line) => Object.fromEntries(COLUMNS.map((name) => [name, line[place[name]] ?? ""])));
  };

  const bringIn = async (text) => {
    const given = parsed(text);
    const judges = [...new Set(given.map((row) => row.judge))];
    const judge = $("name").value.trim() || (judges.length === 1 ? judges[0] : "");
    if (!judge) throw new Error(`it holds grades of ${judges.join(" and ")}: write your name first`);
    $("name").value = judge;
    const mine = given.filter((row) => row.judge === judge);
    const before = new Map((await kept(judge)).map((one) => [keyOf(one.query, one.document), one]));
    const fresh = mine
      .filter((row) => !(before.get(keyOf(row.query_id, row.doc_id))?.date > row.date))
      .map((row) => ({
        suite: data.suite, judge, query: row.query_id, document: row.doc_id, text: row.query,
        grade: row.rating === "" ? CANNOT_TELL : Number(row.rating), date: row.date, note: row.note, imported: true,
      }));
    if (fresh.some((one) => Number.isNaN(one.grade))) throw new Error("a rating in it is no number");
    await store((grades) => fresh.forEach((one) => grades.put(one)));
    const others = given.length - mine.length;
    return `${many(mine.length, "grade", "grades")} of ${judge} brought in${others ? `; ${many(others, "row", "rows")} of others left out` : ""}.`;
  };

  // -- the beginning --------------------------------------------------------------------------------

  const scaleList = (list) =>
    list.replaceChildren(...data.scales[0].map((one) =>
      make("li", { "data-level": levelOf(data.scales[0], one.grade) }, one.word, one.key ? make("kbd", {}, one.key) : null)));

  const offer = async () => {
    const judge = $("name").value.trim();
    const [open, everything] = [choose(judge, false), choose(judge, true)]
      .map((queries) => queries.reduce((sum, query) => sum + query.documents.length, 0));
    $("which").hidden = everything === open;
    $("which-new").textContent = `What nobody has graded yet: ${many(open, "document", "documents")}`;
    $("which-all").textContent = `All of it, as a second opinion: ${many(everything, "document", "documents")}`;
    if (!open && everything) document.querySelector("[name=which][value=all]").checked = true;
    let found = [];
    try { found = judge ? await kept(judge) : []; } catch { warn(); }
    const graded = found.filter((one) => one.grade !== undefined && data.asked.includes(one.query)).length;
    $("resume").hidden = !graded;
    $("resume").textContent = `Welcome back. ${many(graded, "grade is", "grades are")} still here.`;
    $("go").textContent = graded ? "Continue" : "Start";
  };

  const begin = async () => {
    state.judge = $("name").value.trim();
    state.all = document.querySelector("[name=which]:checked").value === "all";
    remember("judge", state.judge);
    remember("which", state.all ? "all" : "new");
    try {
      for (const one of await kept(state.judge)) state.records.set(keyOf(one.query, one.document), one);
    } catch { warn(); }
    state.queries = choose(state.judge, state.all);
    $("who").textContent = `graded by ${state.judge}`;
    $("queries").replaceChildren(...state.queries.map((query, at) =>
      make("li", {}, make("button", { type: "button", onclick: () => visit(at) },
        make("span", { dir: "auto" }, query.text), make("small", {}, "")))));
    count();
    for (const query of state.queries) drawCount(query);
    state.started = true;
    if (!state.queries.length) {
      $("query").textContent = "Nothing is left to grade.";
      drawCount(null);
      return;
    }
    const first = state.queries.findIndex((query) => doneIn(query) < query.documents.length);
    visit(Math.max(0, first));
    if (first < 0) $("done").focus();
  };

  const KEYS = {
    j: () => step(1), k: () => step(-1), "[": () => stepQuery(-1), "]": () => stepQuery(1), x: () => give(CANNOT_TELL),
    s: skip, u: undo, n: note, t: () => active().querySelector(".more:not([hidden])")?.click(), "?": () => $("help").showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !state.keys) return;
    if (!state.started || !state.queries.length || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input, textarea, select")) return;
    const one = scaleOf(here()).find((grade) => grade.key && grade.key === event.key);
    const act = one ? () => give(one.grade) : KEYS[event.key];
    if (!act || (event.repeat && !"jk".includes(event.key))) return;
    event.preventDefault();
    act();
  });

  $("undo").addEventListener("click", undo);
  $("save").addEventListener("click", save);
  $("done-save").addEventListener("click", save);
  $("previous").addEventListener("click", () => stepQuery(-1));
  $("next").addEventListener("click", () => stepQuery(1));
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("list-open").addEventListener("click", () => {
    const shown = $("list").classList.toggle("open");
    $("list-open").setAttribute("aria-expanded", String(shown));
    if (shown) $("queries").querySelector("[aria-current]")?.focus();
  });
  $("shortcuts").addEventListener("change", () => {
    state.keys = $("shortcuts").checked;
    document.body.classList.toggle("no-keys", !state.keys);
    remember("keys", state.keys ? "" : "off");
  });
  $("file").addEventListener("change", async () => {
    const [file] = $("file").files;
    if (!file) return;
    try {
      const said = await bringIn(await file.text());
      await offer();
      $("file-said").textContent = said;
    } catch (error) {
      $("file-said").textContent = `${file.name} cannot be used: ${error.message}.`;
    }
    $("file").value = "";
  });
  $("name").addEventListener("input", offer);
  $("start").addEventListener("cancel", (event) => event.preventDefault());
  $("start").querySelector("form").addEventListener("submit", (event) => {
    if ($("name").value.trim()) return;
    event.preventDefault();
    $("name").focus();
  });
  $("start").addEventListener("close", begin);
  window.addEventListener("beforeunload", (event) => {
    if (state.pending || (state.failed && state.records.size)) event.preventDefault();
  });

  scaleList($("start-scale"));
  scaleList($("help-scale"));
  $("name").value = recalled("judge");
  if (recalled("which") === "all") document.querySelector("[name=which][value=all]").checked = true;
  if (recalled("keys") === "off") { $("shortcuts").checked = false; state.keys = false; document.body.classList.add("no-keys"); }
  opened.catch(warn);
  offer().then(() => {
    $("start").showModal();
    if ($("name").value) $("go").focus();
    document.documentElement.dataset.ready = "yes";
  });
})();
