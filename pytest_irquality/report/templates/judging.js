(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const CANNOT_TELL = null; // a record without a grade: it was looked at
  const MISSING = ""; // the card, and the record, of a query itself: what search missed, and why it was skipped
  const DAY = 864e5;
  const MATCHES = 8;

  /** What a judge may do: which documents are asked for, and which column the grade goes to. */
  const MODES = {
    new: { column: "grade", says: "What nobody has graded yet", asks: (one) => !one.judges.length },
    all: { column: "grade", says: "All of it, as a second opinion", asks: (one, judge) => !one.judges.includes(judge) },
    settle: { column: "decision", says: "Where judges differ, to decide", asks: (one) => one.disputed.length },
  };

  const state = {
    judge: "", mode: MODES.new, queries: [], at: 0, active: 0, records: new Map(),
    undo: [], keys: true, failed: false, pending: 0, started: false,
  };

  const grouped = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
  const many = (n, one, more) => `${grouped(n)} ${n === 1 ? one : more}`;
  /** Of a record, and of a query's document: other words are another query, whatever its id. */
  const keyOf = (one) => JSON.stringify([one.query, one.text, one.document]);
  const asKey = (query, id) => keyOf({ query: query.id, text: query.text, document: id });

  // -- what is kept ---------------------------------------------------------------------------------

  // One entry a document. "strict": it is on the disk when the browser says that it is kept.
  const finished = (request) => new Promise((resolve, reject) => {
    request.onsuccess = request.oncomplete = () => resolve(request.result);
    request.onerror = request.onabort = () => reject(request.error);
  });
  const request = indexedDB.open("pytest-irquality", 1);
  request.onupgradeneeded = () =>
    request.result.createObjectStore("grades", { keyPath: ["suite", "judge", "query", "text", "document"] });
  const opened = finished(request);

  const warn = () => {
    state.failed = true;
    $("warning").textContent = "This browser does not keep your grades. Save the file before you close the page.";
    $("warning").hidden = false;
  };
  opened.catch(warn);

  const store = async (change) => {
    state.pending += 1;
    try {
      const transaction = (await opened).transaction("grades", "readwrite", { durability: "strict" });
      change(transaction.objectStore("grades"));
      await finished(transaction);
    } catch {
      warn();
    } finally {
      state.pending -= 1;
      if (!state.pending) document.documentElement.dataset.kept = "yes";
    }
  };

  const kept = async (judge) => {
    const range = IDBKeyRange.bound([data.suite, judge], [data.suite, judge, []]);
    return finished((await opened).transaction("grades").objectStore("grades").getAll(range));
  };

  /** Set or remove (record undefined) what is known of a document, here and in the browser. */
  const keep = (query, id, record) => {
    delete document.documentElement.dataset.kept;
    if (record) {
      const whole = { ...record, suite: data.suite, judge: state.judge, query: query.id, document: id, text: query.text };
      state.records.set(asKey(query, id), whole);
      return store((grades) => grades.put(whole));
    }
    state.records.delete(asKey(query, id));
    return store((grades) => grades.delete([data.suite, state.judge, query.id, query.text, id]));
  };

  /** The same for what can be undone. */
  const change = (query, id, values) => {
    const before = recordOf(query, id);
    state.undo.push({ query, id, before });
    keep(query, id, { ...before, ...values, date: new Date().toISOString().replace(/\.\d+Z$/, "Z") });
  };

  const recalled = (name) => { try { return localStorage.getItem(`irquality ${name}`) || ""; } catch { return ""; } };
  const remember = (name, value) => { try { localStorage.setItem(`irquality ${name}`, value); } catch { /* a comfort only */ } };

  // -- what there is to grade -----------------------------------------------------------------------

  for (const suite of data.suites) suite.known = new Map(suite.corpus.map((one) => [one[0], one]));
  /** A document with the title and text of the corpus where it has none of its own. */
  const filled = (query, document) => {
    const [, title = "", text = ""] = data.suites[query.suite].known.get(document.id) ?? [];
    return { fields: [], judges: [], disputed: [], ...document, title: document.title || title, text: document.text || text };
  };

  // "#q=ID&q=ID" has these queries alone, "#decides" those that could turn the verdict.
  const address = new URLSearchParams(location.hash.slice(1));
  const named = address.getAll("q");
  const isNamed = (query) => (address.has("decides") ? query.decides : !named.length || named.includes(query.id));

  const ofPage = new Set(data.queries.map((query) => asKey(query, MISSING)));
  const isAsked = (record) => ofPage.has(keyOf({ ...record, document: MISSING }));

  /** A number from a text, by which documents are shuffled: the same for a judge at every visit. */
  const chance = (text) => {
    let hash = 2166136261;
    for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0), 16777619);
    hash = Math.imul(hash ^ (hash >>> 15), 0x6d2b79f5);
    return (hash ^ (hash >>> 13)) >>> 0;
  };

  const apart = (document) => Math.max(...document.disputed.map((one) => one[1])) - Math.min(...document.disputed.map((one) => one[1]));

  /** The documents of a query in the order in which a judge sees them: blind, or worst dispute first. */
  const asked = (query, mode, judge) => {
    const documents = query.documents.filter((one) => mode.asks(one, judge)).map((one) => filled(query, one));
    if (mode === MODES.settle) return documents.sort((one, other) => apart(other) - apart(one));
    const shuffled = documents.map((one) => [chance(`${one.id}\n${query.id}\n${judge}`), one]);
    return shuffled.sort(([one], [other]) => one - other).map(([, document]) => document);
  };

  /** The cards of a query: what is asked, what the judge added, and the place to add more. */
  const cards = (query) => {
    if (state.mode === MODES.settle) return query.asked;
    const known = new Set(query.documents.map((one) => one.id));
    const added = [...state.records.values()].filter((one) =>
      one.query === query.id && one.text === query.text && one.document !== MISSING && !known.has(one.document));
    return [...query.asked, ...added.map((one) => filled(query, { id: one.document })), { id: MISSING }];
  };

  const choose = (judge, mode) => {
    const queries = data.queries.filter(isNamed).map((query) => ({ ...query, asked: asked(query, mode, judge) }));
    if (mode === MODES.settle) {
      return queries.filter((query) => query.asked.length).sort((one, other) => apart(other.asked[0]) - apart(one.asked[0]));
    }
    const over = (query) => (mode === MODES.new ? query.skipped.length : query.skipped.includes(judge));
    return queries.filter((query) => !over(query) && (query.asked.length || query.empty || !query.found));
  };

  const recordOf = (query, id) => state.records.get(asKey(query, id));
  const valueOf = (query, document) => recordOf(query, document.id)?.[state.mode.column];
  const isSkipped = (query) => state.mode !== MODES.settle && Boolean(recordOf(query, MISSING));
  const documentsOf = (query) => query.cards.filter((one) => one.id !== MISSING);
  /** Whether all of it is graded and nothing good is known: then search missed what there is. */
  const lacks = (query) =>
    state.mode !== MODES.settle && !query.found && !isSkipped(query) && documentsOf(query).every((one) =>
      valueOf(query, one) !== undefined && !(valueOf(query, one) >= data.suites[query.suite].good));
  const isOpen = (query, card) =>
    !isSkipped(query) && (card.id === MISSING ? lacks(query) : valueOf(query, card) === undefined);
  const openIn = (query) => query.cards.filter((card) => isOpen(query, card)).length;
  const here = () => state.queries[state.at];
  const scaleOf = (query) => data.suites[query.suite].scale;
  const wordOf = (scale, grade) => scale.find((one) => one.grade === grade)?.word ?? String(grade);
  const levelOf = (scale, grade) => {
    const place = scale.findIndex((one) => one.grade === grade);
    return place < 0 ? 0 : Math.round((4 * place) / Math.max(1, scale.length - 1));
  };

  // -- drawing --------------------------------------------------------------------------------------

  const button = (label, key, attributes) =>
    h("button", { type: "button", ...attributes }, label, key ? h("kbd", { "aria-hidden": "true" }, key) : null);

  const chip = (query, card) => {
    const value = card.id === MISSING ? undefined : valueOf(query, card);
    if (value === CANNOT_TELL) return h("span", { class: "chip ask" }, "cannot tell");
    if (value !== undefined) {
      const scale = scaleOf(query);
      return h("span", { class: "chip", "data-level": levelOf(scale, value) }, wordOf(scale, value));
    }
    if (isSkipped(query)) return h("span", { class: "chip" }, "skipped");
    if (card.id !== MISSING) return h("span", { class: "chip" }, state.mode === MODES.settle ? "not decided" : "not graded");
    return lacks(query) ? h("span", { class: "chip ask" }, "nothing good yet") : null;
  };

  const closed = (query, card, place) =>
    h("li", { class: "card" },
      h("button", { type: "button", class: "open", onclick: () => activate(place, true) },
        h("span", { dir: "auto" }, card.id === MISSING ? "Is something missing?" : card.title || card.id), chip(query, card)));

  /** Whether a field is shown as a picture: its data, or a file beside the page. What an address
      means the browser itself says, and beside any page: none that names a scheme or a host is. */
  const isPicture = (value) => {
    if (/^data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+$/.test(value)) return true;
    return /\.(png|jpe?g|gif|webp|avif|svg)\s*$/i.test(value) && [location.href, "https://page.invalid/beside/it"].every((page) => {
      try { return new URL(value, page).href.startsWith(new URL(".", page).href); } catch { return false; }
    });
  };

  const fields = (document) => {
    const pictures = document.fields.filter(([, value]) => isPicture(value)).map(([name, value]) =>
      h("img", { src: value, alt: `${name} of this document`, loading: "lazy", referrerpolicy: "no-referrer" }));
    const others = document.fields.filter(([, value]) => !isPicture(value)).map(([name, value]) =>
      h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, value)));
    return [
      pictures.length ? h("div", { class: "pictures" }, ...pictures) : null,
      others.length ? h("dl", { class: "fields" }, ...others) : null,
    ];
  };

  /** What each judge says of a document on which they differ, side by side. */
  const opinions = (query, document) =>
    h("ul", { class: "opinions" }, ...document.disputed.map(([judge, grade, note]) => {
      const scale = scaleOf(query);
      return h("li", {}, h("b", { dir: "auto" }, judge || "the suite"),
        h("span", { class: "chip", "data-level": levelOf(scale, grade) }, wordOf(scale, grade)),
        note ? h("p", { dir: "auto" }, note) : null);
    }));

  const dock = (query, document) => {
    const scale = scaleOf(query);
    const value = valueOf(query, document);
    const grades = scale.map((one) =>
      button(one.word, one.key, {
        class: "grade", "data-level": levelOf(scale, one.grade), "aria-pressed": String(value === one.grade),
        onclick: () => give(one.grade),
      }));
    const others = [button("Note", "n", { onclick: note })];
    if (state.mode !== MODES.settle) {
      others.unshift(button("Cannot tell", "x", { "aria-pressed": String(value === CANNOT_TELL), onclick: () => give(CANNOT_TELL) }));
      others.push(button("Skip query", "s", { onclick: askWhy }));
    }
    return h("div", { class: "dock" },
      h("div", { class: "grades", role: "group", "aria-label": "Grade" }, ...grades),
      h("div", { class: "others", role: "group", "aria-label": "Other answers" }, ...others));
  };

  const noteField = (query, document) => {
    const area = h("textarea", { rows: 2, maxlength: 2000, "aria-label": "Note on this document" });
    area.value = recordOf(query, document.id)?.note ?? "";
    area.addEventListener("input", () => keep(query, document.id, { ...recordOf(query, document.id), note: area.value }));
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") area.closest(".card").focus();
    });
    return h("label", { class: "note", hidden: !area.value }, h("span", {}, "Note"), area);
  };

  const open = (query, document, place) => {
    const card = h("li", { class: "card active", tabindex: "-1", "aria-labelledby": "where title" });
    if (document.id === MISSING) {
      card.append(...adding(query));
      return card;
    }
    card.append(
      h("span", { class: "where", id: "where" }, `Document ${place + 1} of ${documentsOf(query).length}`),
      h("h2", { id: "title", dir: "auto" }, document.title || document.id),
      ...[document.title ? h("p", { class: "id" }, document.id) : null, ...fields(document)].filter(Boolean));
    if (document.text && document.text !== document.title) {
      const text = h("div", { class: "text folded", dir: "auto", id: "text" }, document.text);
      const more = button("Show all of it", "t", { class: "more", "aria-expanded": "false", "aria-controls": "text", hidden: true });
      more.addEventListener("click", () => {
        const folded = text.classList.toggle("folded");
        more.setAttribute("aria-expanded", String(!folded));
        more.firstChild.textContent = folded ? "Show all of it" : "Show less";
      });
      card.append(text, more);
    }
    if (state.mode === MODES.settle) card.append(opinions(query, document));
    card.append(dock(query, document), noteField(query, document));
    return card;
  };

  const drawCard = (place, asActive) => {
    const query = here();
    const card = (asActive ? open : closed)(query, query.cards[place], place);
    $("documents").children[place].replaceWith(card);
    const text = card.querySelector(".text");
    if (text) card.querySelector(".more").hidden = text.scrollHeight <= text.clientHeight + 2;
    return card;
  };

  const drawQuery = () => {
    const query = here();
    $("place").textContent = `Query ${state.at + 1} of ${state.queries.length}`;
    $("tags").replaceChildren(...query.tags.map((tag) => h("span", { dir: "auto" }, tag)));
    $("query").textContent = query.text;
    $("why").textContent = query.why;
    $("why").hidden = !query.why;
    $("documents").replaceChildren(...query.cards.map((card, place) => closed(query, card, place)));
    $("previous").disabled = state.at === 0;
    $("next").disabled = state.at === state.queries.length - 1;
    for (const current of $("queries").querySelectorAll("[aria-current]")) {
      current.removeAttribute("aria-current");
      current.autofocus = false;
    }
    const entry = $("queries").children[state.at].firstChild;
    entry.setAttribute("aria-current", "true");
    entry.autofocus = true; // where the list opens
    entry.scrollIntoView({ block: "nearest" });
  };

  const drawEntry = (query, at) => {
    const entry = $("queries").children[at].firstChild;
    const [left, all] = [openIn(query), documentsOf(query).length];
    const nothing = query.empty ? "found nothing" : "nothing good";
    entry.lastChild.textContent = !left ? "✓ done" : all ? `${Math.max(0, all - left)} of ${all}` : nothing;
    entry.classList.toggle("all", !left);
  };

  const drawCount = () => {
    const left = state.queries.reduce((sum, query) => sum + openIn(query), 0);
    const total = state.queries.reduce((sum, query) => sum + documentsOf(query).length + lacks(query), 0);
    if (here()) drawEntry(here(), state.at);
    $("bar").max = Math.max(1, total);
    $("bar").value = total - left;
    const what = state.mode === MODES.settle ? "decided" : "graded";
    $("count").textContent = `${grouped(total - left)} of ${grouped(total)} ${what}`;
    $("task").textContent = state.mode === MODES.settle ? agreement(total - left) : "How well does each document answer this search?";
    $("undo").disabled = !state.undo.length;
    $("done").hidden = !state.queries.length || left > 0;
    return left;
  };

  const agreement = (decided) => {
    const several = data.queries.flatMap((query) => query.documents).filter((one) => one.judges.length > 1);
    const settled = several.filter((one) => !one.disputed.length).length;
    return `Which grade is right? Of ${many(several.length, "document", "documents")} that several people graded,`
      + ` ${grouped(settled)} are agreed or decided; with your decisions ${grouped(settled + decided)}.`;
  };

  const say = (text) => { $("said").textContent = text; };

  // -- what search missed ---------------------------------------------------------------------------

  const plain = (text) => text.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase();

  /** The documents of the corpus with all these words in title or id, the likeliest first. */
  const found = (suite, written) => {
    suite.index ??= suite.corpus.map(([id, title, text]) => plain(`${title || text} ${id}`));
    const words = plain(written).split(/\s+/).filter(Boolean);
    const rank = (n) => (suite.corpus[n][0] === written ? 0 : suite.index[n].startsWith(words[0]) ? 1 : 2);
    return [...suite.index.keys()]
      .filter((n) => words.length && words.every((word) => suite.index[n].includes(word)))
      .sort((one, other) => rank(one) - rank(other) || suite.index[one].length - suite.index[other].length || one - other)
      .slice(0, MATCHES)
      .map((n) => suite.corpus[n]);
  };

  const adding = (query) => {
    const suite = data.suites[query.suite];
    const size = many(suite.corpus.length, "document", "documents");
    const matches = h("ul", { class: "matches" });
    const field = h("input", { type: "search", id: "find", autocomplete: "off", enterkeyhint: "done" });
    const offered = (id, label) =>
      h("li", {}, h("button", { type: "button", onclick: () => add(id) }, h("span", { dir: "auto" }, label), h("small", {}, id)));
    field.addEventListener("input", () => {
      const written = field.value.trim();
      const some = written ? found(suite, written) : [];
      matches.replaceChildren(...some.map(([id, title, text]) => offered(id, title || text)));
      if (written && !suite.known.has(written)) {
        matches.append(offered(written, suite.corpus.length ? `Add this id, which none of ${size} has` : "Add this id"));
      }
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") matches.querySelector("button")?.click();
      if (event.key === "Escape") field.closest(".card").focus();
    });
    const why = query.empty ? "Search returned nothing here." : lacks(query) ? "Nothing good is known for this query." : "";
    return [
      h("h2", { id: "title" }, "What should be found here, and is missing?"),
      h("p", { class: "muted", id: "where" }, `${why} Add it and grade it. Where there is nothing, skip the query.`.trim()),
      h("label", { class: "find" }, suite.corpus.length ? `Title or id, of ${size}` : "Id of a document", field), matches,
      h("div", { class: "others" }, button("Skip query", "s", { onclick: askWhy })),
    ];
  };

  const add = (id) => {
    const query = here();
    const pooled = query.documents.find((one) => one.id === id); // which others have graded
    if (pooled && !query.asked.some((one) => one.id === id)) query.asked.push(filled(query, pooled));
    if (!pooled && !recordOf(query, id)) change(query, id, {});
    query.cards = cards(query);
    drawQuery();
    activate(query.cards.findIndex((one) => one.id === id), true);
    drawCount();
  };

  const askMissing = () => {
    if (state.mode === MODES.settle) return;
    activate(here().cards.length - 1, true);
    $("find").focus();
  };

  const askWhy = () => {
    if (state.mode === MODES.settle) return;
    $("reason").value = "";
    $("skip").showModal();
  };

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
    const firstOpen = here().cards.findIndex((card) => isOpen(here(), card));
    activate(place ?? Math.max(0, firstOpen), state.started);
    drawCount();
    $("list").hidePopover?.();
  };

  /** The next that is open, in this query and then in those after it. */
  const advance = (done) => {
    const left = drawCount();
    say(`${done}. ${$("count").textContent}.`);
    const from = state.active;
    for (let step = 0; left && step < state.queries.length; step += 1) {
      const at = (state.at + step) % state.queries.length;
      const query = state.queries[at];
      const places = [...query.cards.keys()].filter((place) => isOpen(query, query.cards[place]));
      if (!places.length) continue;
      if (step === 0) return activate(places.find((place) => place > from) ?? places[0], true);
      visit(at, places[0]);
      return say(`Next query: ${query.text}. ${many(documentsOf(query).length, "document", "documents")}.`);
    }
    activate(from);
    $("done").focus();
    $("done").scrollIntoView({ block: "center" });
    return say("All of it is done.");
  };

  const give = (grade) => {
    const query = here();
    const card = query.cards[state.active];
    if (card.id === MISSING || (grade === CANNOT_TELL && state.mode === MODES.settle)) return;
    if (isSkipped(query)) keep(query, MISSING, undefined);
    change(query, card.id, { [state.mode.column]: grade });
    advance(grade === CANNOT_TELL ? "cannot tell" : wordOf(scaleOf(query), grade));
  };

  const skip = (reason) => {
    $("skip").close();
    if (!reason.trim()) return;
    change(here(), MISSING, { note: reason.trim() });
    drawQuery();
    advance("Skipped");
  };

  const note = () => {
    const field = $("documents").querySelector(".active .note");
    if (!field) return;
    field.hidden = false;
    field.querySelector("textarea").focus();
    field.scrollIntoView({ block: "center" });
  };

  const undo = () => {
    const last = state.undo.pop();
    if (!last) return;
    const { query } = last;
    const written = last.id !== MISSING && recordOf(query, last.id)?.note;
    keep(query, last.id, written ? { ...last.before, note: written } : last.before);
    query.cards = cards(query);
    const place = query.cards.findIndex((card) => card.id === last.id);
    visit(state.queries.indexOf(query), place < 0 ? query.cards.length - 1 : place);
    say("Undone.");
  };

  const step = (by) => {
    const place = state.active + by;
    if (place >= 0 && place < here().cards.length) activate(place, true);
    else stepQuery(by, by < 0);
  };

  const stepQuery = (by, last = false) => {
    const at = state.at + by;
    if (at < 0 || at >= state.queries.length) return;
    visit(at, last ? state.queries[at].cards.length - 1 : undefined);
  };

  // -- files ----------------------------------------------------------------------------------------

  const graded = () => {
    const ids = new Set(data.queries.map((query) => query.id));
    const says = (one) => one.grade !== undefined || one.decision !== undefined || one.document === MISSING;
    const records = [...state.records.entries()]
      .filter(([, one]) => says(one) && (isAsked(one) || (one.imported && !ids.has(one.query))))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, one]) => [one.query, one.text, one.document, one.grade, one.decision, one.judge, one.date, one.note]);
    return [data.columns, ...records];
  };

  const saveGrades = () => {
    const judge = state.judge.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "judge";
    const name = `${data.stem}.judgments-${judge}.csv`;
    save(name, graded());
    say(`Saved ${name}.`);
  };

  /** The rows of a CSV, each with its line, cells as they were before `cell`. */
  const rows = (text) => {
    const all = [{ line: 1, cells: [] }];
    const whole = text.replace(/^\ufeff/, "");
    let [end, line] = [0, 1];
    for (const found of whole.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|\r|$)/gy)) {
      const value = found[1] === undefined ? found[2] : found[1].replaceAll('""', '"');
      all.at(-1).cells.push(value.replace(FORMULA, (begins) => begins.replace(/'$/, "")));
      end = found.index + found[0].length;
      line += found[0].split(/\r?\n|\r/).length - 1;
      if (!found[3]) break;
      if (found[3] !== ",") all.push({ line, cells: [] });
    }
    if (end < whole.length) throw new Error("it is no CSV");
    return all.filter((row) => row.cells.some(Boolean));
  };

  const parsed = (text) => {
    const [header = { cells: [] }, ...lines] = rows(text);
    const place = Object.fromEntries(data.columns.map((name) => [name, header.cells.indexOf(name)]));
    if (["query_id", "doc_id", "rating", "judge"].some((name) => place[name] < 0)) {
      throw new Error(`its first line does not name the columns ${data.columns.join(", ")}`);
    }
    return lines.map(({ line, cells }) => ({ line, ...Object.fromEntries(data.columns.map((name) => [name, cells[place[name]] ?? ""])) }));
  };

  /** A row of a file as a record. What is no grade of the page's own, or of a day to come, is refused. */
  const recordFrom = (row) => {
    const refuse = (what) => { throw new Error(`line ${row.line}: ${what}`); };
    const called = data.queries.filter((one) => one.id === row.query_id);
    const query = called.find((one) => one.text === row.query) ?? called[0];
    const grades = (query ? scaleOf(query) : data.suites.flatMap((suite) => suite.scale)).map((one) => one.grade);
    const number = (text) => {
      if (text === "") return undefined;
      const value = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
      if (!(value >= Math.min(...grades) && value <= Math.max(...grades))) {
        refuse(`${text} is no grade from ${Math.min(...grades)} to ${Math.max(...grades)}`);
      }
      return value;
    };
    if (Date.parse(row.date) > Date.now() + DAY) refuse(`the date ${row.date} is more than a day ahead`);
    const [grade, decision] = [number(row.rating), number(row.decision)];
    const skipped = row.doc_id === MISSING;
    if (skipped && (row.rating || row.decision || !row.note)) refuse("no document, and no reason why the query was skipped");
    return {
      suite: data.suite, judge: row.judge, query: row.query_id, document: row.doc_id, text: query?.text ?? row.query, decision, date: row.date,
      note: row.note, imported: true, grade: grade === undefined && decision === undefined && !skipped ? CANNOT_TELL : grade,
    };
  };

  const bringIn = async (text) => {
    const given = parsed(text).map(recordFrom);
    const judges = [...new Set(given.map((one) => one.judge))];
    const judge = $("name").value.trim() || (judges.length === 1 ? judges[0] : "");
    if (!judge) throw new Error(`it holds grades of ${judges.join(" and ")}: write your name first`);
    $("name").value = judge;
    const mine = given.filter((one) => one.judge === judge);
    const before = new Map((await kept(judge)).map((one) => [keyOf(one), one]));
    const said = (record = {}) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
    await store((grades) => mine.forEach((one) => {
      const known = before.get(keyOf(one));
      const later = Date.parse(known?.date) > Date.parse(one.date);
      grades.put(later ? { ...one, ...said(known) } : { ...known, ...said(one) });
    }));
    const others = given.length - mine.length;
    return `${many(mine.length, "row", "rows")} of ${judge} brought in${others ? `; ${many(others, "row", "rows")} of others left out` : ""}.`;
  };

  // -- the beginning --------------------------------------------------------------------------------

  const which = () => document.querySelector("[name=which]:checked");

  const offer = async () => {
    const judge = $("name").value.trim();
    const sums = Object.entries(MODES).map(([name, mode]) => {
      const queries = choose(judge, mode);
      const documents = queries.reduce((sum, query) => sum + query.asked.length, 0);
      const bare = queries.filter((query) => !query.asked.length).length;
      const also = bare ? `, and ${many(bare, "query", "queries")} without anything good` : "";
      $(`which-${name}`).textContent = `${mode.says}: ${many(documents, "document", "documents")}${also}`;
      return documents + bare;
    });
    const [fresh, everything, differ] = sums;
    $("which").hidden = everything === fresh && !differ;
    $("which-settle").parentElement.hidden = !differ;
    const usual = fresh || !everything ? "new" : "all";
    if (!sums[Object.keys(MODES).indexOf(which().value)]) document.querySelector(`[name=which][value=${usual}]`).checked = true;
    let found = [];
    try { found = judge ? await kept(judge) : []; } catch { warn(); }
    const graded = found.filter((one) => (one.grade ?? one.decision) !== undefined && isAsked(one)).length;
    const here = new Set(found.filter((one) => one.grade !== undefined).map(keyOf));
    const elsewhere = data.queries.flatMap((query) =>
      query.documents.filter((one) => one.judges.includes(judge) && !here.has(asKey(query, one.id)))).length;
    $("resume").textContent = [
      graded ? `Welcome back. ${many(graded, "grade is", "grades are")} still here.` : "",
      judge && elsewhere ? `The suite has ${many(elsewhere, "grade", "grades")} of ${judge} that this browser does not have:`
        + " continue from the saved file, or the next one is without them." : "",
    ].join(" ").trim();
    $("resume").hidden = !$("resume").textContent;
    $("go").textContent = graded ? "Continue" : "Start";
  };

  const begin = async () => {
    state.judge = $("name").value.trim();
    state.mode = MODES[which().value];
    remember("judge", state.judge);
    remember("which", which().value);
    try {
      for (const one of await kept(state.judge)) state.records.set(keyOf(one), one);
    } catch { warn(); }
    state.queries = choose(state.judge, state.mode);
    for (const query of state.queries) query.cards = cards(query);
    $("who").textContent = `graded by ${state.judge}`;
    $("queries").replaceChildren(...state.queries.map((query, at) =>
      h("li", {}, h("button", { type: "button", onclick: () => visit(at) },
        h("span", { dir: "auto" }, query.text), h("small", {}, "")))));
    state.queries.forEach(drawEntry);
    state.started = true;
    if (!state.queries.length) {
      $("query").textContent = "Nothing is left to grade.";
      drawCount();
      return;
    }
    const first = state.queries.findIndex(openIn);
    visit(Math.max(0, first));
    if (first < 0) $("done").focus();
  };

  const KEYS = {
    j: () => step(1), k: () => step(-1), "[": () => stepQuery(-1), "]": () => stepQuery(1), x: () => give(CANNOT_TELL),
    s: askWhy, u: undo, n: note, "?": () => $("help").showModal(),
    t: () => $("documents").querySelector(".active .more:not([hidden])")?.click(),
    a: askMissing,
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
  $("save").addEventListener("click", saveGrades);
  $("done-save").addEventListener("click", saveGrades);
  $("previous").addEventListener("click", () => stepQuery(-1));
  $("next").addEventListener("click", () => stepQuery(1));
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("skip").addEventListener("click", ({ target }) => target.type === "button" && skip(target.value));
  $("skip").addEventListener("submit", (event) => {
    event.preventDefault();
    skip($("reason").value);
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
  window.addEventListener("hashchange", () => location.hash !== "#main" && location.reload());
  window.addEventListener("beforeunload", (event) => {
    if (state.pending || (state.failed && state.records.size)) event.preventDefault();
  });

  for (const list of ["start-scale", "help-scale"]) {
    const { scale } = data.suites[0];
    $(list).replaceChildren(...scale.map((one) =>
      h("li", { "data-level": levelOf(scale, one.grade) }, one.word, one.key ? h("kbd", {}, one.key) : null)));
  }
  const addressed = data.queries.filter(isNamed).length;
  $("chosen").hidden = addressed === data.queries.length;
  $("chosen").prepend(`This address has ${grouped(addressed)} of ${many(data.queries.length, "query", "queries")}. `);
  $("name").value = recalled("judge");
  (document.querySelector(`[name=which][value="${recalled("which")}"]`) ?? which()).checked = true;
  if (recalled("keys") === "off") $("shortcuts").click();
  offer().then(() => {
    $("start").showModal();
    if ($("name").value) $("go").focus();
    document.documentElement.dataset.ready = "yes";
  });
})();
