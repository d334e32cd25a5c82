// The grading page: one document at a time, by keyboard, without a hint of who returned it. Grades stay in the browser
// until somebody saves them to a file.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);

  const CANNOT_TELL = null; // the value of a document that was looked at and got no grade
  const QUERY_ITSELF = ""; // the document id of a record about the query: why it was skipped
  const MISSING = "\0missing"; // the place in the list of documents where missing ones are added
  const MAX_MATCHES = 8;
  const DAY_MS = 864e5;

  /** What a person may do: which documents are asked for, and which column the grade goes to. */
  const MODES = {
    fresh: { column: "grade", title: "What nobody has graded yet", isAsked: (doc) => !doc.assessors.length },
    second: {
      column: "grade",
      title: "Everything, as a second opinion",
      isAsked: (doc, name) => !doc.assessors.includes(name),
    },
    settle: { column: "decision", title: "Where people disagree, to decide", isAsked: (doc) => doc.opinions.length > 0 },
  };

  const state = { name: "", mode: MODES.fresh, queries: [], position: 0, docId: "", records: new Map(), undo: [], isStarted: false };

  // -- What the browser stores -----------------------------------------------------------------

  const makeKey = (query, docId) => JSON.stringify([query.id, query.text, docId]);
  const getStoreName = (name) => `irquality grades ${data.suitePath} ${name}`;

  function readStore(name) {
    try {
      return JSON.parse(localStorage.getItem(name) ?? "{}");
    } catch {
      return {};
    }
  }

  /** Keep everything at once. If the browser refuses, the page asks to save the file. */
  function writeStore() {
    try {
      localStorage.setItem(getStoreName(state.name), JSON.stringify(Object.fromEntries(state.records)));
      localStorage.setItem("irquality name", JSON.stringify(state.name));
    } catch {
      find("warning").textContent = "This browser does not keep your grades. Save the file before you close the page.";
      find("warning").hidden = false;
    }
  }

  function setRecord(query, docId, record) {
    const key = makeKey(query, docId);
    if (record) state.records.set(key, record);
    else state.records.delete(key);
    writeStore();
  }

  /** Change a record in a way that can be undone. */
  function changeRecord(query, docId, values) {
    const before = getRecord(query, docId);
    state.undo.push({ query, docId, before });
    setRecord(query, docId, { ...before, ...values, date: new Date().toISOString().replace(/\.\d+Z$/, "Z") });
  }

  const getRecord = (query, docId) => state.records.get(makeKey(query, docId));
  const getValue = (query, docId) => getRecord(query, docId)?.[state.mode.column];
  const isSkipped = (query) => state.mode !== MODES.settle && Boolean(getRecord(query, QUERY_ITSELF));
  const isOpen = (query, docId) => !isSkipped(query) && docId !== MISSING && getValue(query, docId) === undefined;

  // -- What there is to grade ----------------------------------------------------------------------

  for (const suite of data.suites) suite.known = new Map(suite.corpus.map(([docId, title, text]) => [docId, { title, text }]));
  for (const query of data.queries) {
    const { known } = data.suites[query.suite];
    for (const { id, title, text } of query.documents) if (!known.has(id)) known.set(id, { title, text });
  }

  // "#q=ID&q=ID" asks for these queries only, "#decides" for those whose grades could turn the outcome.
  const address = new URLSearchParams(location.hash.slice(1));
  const isAddressed = (query) => (address.has("decides") ? query.decides : !address.has("q") || address.getAll("q").includes(query.id));

  /** A number from a text, by which documents are shuffled: the same for a person at every visit. */
  function hashText(text) {
    let hash = 2166136261;
    for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0), 16777619);
    hash = Math.imul(hash ^ (hash >>> 15), 0x6d2b79f5);
    return (hash ^ (hash >>> 13)) >>> 0;
  }

  function getSpread(doc) {
    const grades = doc.opinions.map(([, grade]) => grade);
    return Math.max(...grades) - Math.min(...grades);
  }

  function selectDocuments(query, mode, name) {
    const docs = query.documents.filter((doc) => mode.isAsked(doc, name));
    if (mode === MODES.settle) return docs.sort((one, other) => getSpread(other) - getSpread(one));
    const order = new Map(docs.map((doc) => [doc, hashText(`${doc.id}\n${query.id}\n${name}`)]));
    return docs.sort((one, other) => order.get(one) - order.get(other));
  }

  function selectQueries(mode, name) {
    const queries = data.queries.filter(isAddressed).map((query) => ({ ...query, asked: selectDocuments(query, mode, name) }));
    if (mode === MODES.settle) return queries.filter((query) => query.asked.length);
    return queries.filter((query) => query.asked.length || !query.hasRelevant);
  }

  /** The ids of a query's documents in their order: those asked for, those added, and the place to add more. */
  function listDocIds(query) {
    const asked = query.asked.map((doc) => doc.id);
    if (state.mode === MODES.settle) return asked;
    const known = new Set([...query.documents.map((doc) => doc.id), QUERY_ITSELF]);
    const records = [...state.records.keys()].map((key) => JSON.parse(key));
    const added = records.filter(([id, text, docId]) => id === query.id && text === query.text && !known.has(docId));
    return [...asked, ...added.map(([, , docId]) => docId), MISSING];
  }

  function getDocument(query, docId) {
    const known = data.suites[query.suite].known.get(docId) ?? {};
    const doc = query.documents.find((each) => each.id === docId) ?? { id: docId, fields: [], assessors: [], opinions: [] };
    return { ...doc, title: doc.title || known.title || docId, text: doc.text || known.text || "" };
  }

  const getQuery = () => state.queries[state.position];
  const getScale = (query) => data.suites[query.suite].scale;

  function getWord(query, value) {
    if (value === CANNOT_TELL) return "cannot tell";
    return getScale(query).find((entry) => entry.grade === value)?.word ?? String(value);
  }

  function getLevel(query, value) {
    const scale = getScale(query);
    const index = scale.findIndex((entry) => entry.grade === value);
    return index < 0 ? 0 : Math.round((3 * index) / Math.max(1, scale.length - 1));
  }

  const countOpen = (query) => listDocIds(query).filter((docId) => isOpen(query, docId)).length;

  // -- Drawing -------------------------------------------------------------------------------------

  const announce = (text) => { find("said").textContent = text; };

  function drawProgress() {
    let total = 0;
    let open = 0;
    for (const query of state.queries) {
      total += listDocIds(query).filter((docId) => docId !== MISSING).length;
      open += countOpen(query);
    }
    find("progress").max = Math.max(total, 1);
    find("progress").value = total - open;
    find("count").textContent = `${formatNumber(total - open)} of ${formatCount(total, "document")} done`;
    return open;
  }

  function drawQuery() {
    const query = getQuery();
    find("place").textContent = `Query ${state.position + 1} of ${state.queries.length}`;
    const tags = query.tags.flatMap((tag) => [" ", createElement("span", { class: "tag", dir: "auto" }, tag)]);
    find("tags").replaceChildren(...tags);
    find("query").textContent = query.text;
    find("why").textContent = query.why;
    find("why").hidden = !query.why;
    find("previous").disabled = state.position === 0;
    find("next").disabled = state.position === state.queries.length - 1;
    drawDocumentList();
    drawQueryList();
  }

  function drawQueryList() {
    const items = state.queries.map((query, position) => {
      const open = countOpen(query);
      const status = isSkipped(query) ? "skipped" : open ? String(open) : "✓";
      const current = position === state.position ? "true" : null;
      const content = [createElement("span", { dir: "auto" }, query.text), createElement("small", {}, status)];
      const attributes = { class: "wide", "aria-current": current };
      return createElement("li", {}, createButton(content, () => visitQuery(position), attributes));
    });
    find("query-list").replaceChildren(...items);
  }

  function drawDocumentList() {
    const query = getQuery();
    const items = listDocIds(query).map((docId, index) => {
      const value = getValue(query, docId);
      const grade = value === undefined ? "" : `: ${getWord(query, value)}`;
      const label = docId === MISSING ? "Add a missing document" : `Document ${index + 1}${grade}`;
      const text = docId === MISSING ? "+ missing" : value === CANNOT_TELL ? "?" : String(index + 1);
      const attributes = {
        "aria-label": label,
        title: label,
        "aria-current": docId === state.docId ? "true" : null,
        "data-level": typeof value === "number" ? getLevel(query, value) : null,
      };
      return createElement("li", {}, createButton(text, () => visitDocument(docId), attributes));
    });
    find("documents").replaceChildren(...items);
  }

  function drawDocument() {
    const query = getQuery();
    const isMissing = state.docId === MISSING;
    const card = find("document");
    card.replaceChildren(...(isMissing ? createAdding(query) : createDocument(query, getDocument(query, state.docId))));
    const value = getValue(query, state.docId);
    const buttons = getScale(query).map(({ word, grade, key }) => {
      const content = [word, key ? createElement("kbd", { "aria-hidden": "true" }, key) : null];
      const attributes = { "data-level": getLevel(query, grade), "aria-pressed": String(value === grade) };
      return createButton(content, () => giveGrade(grade), { ...attributes, disabled: isMissing });
    });
    find("grades").replaceChildren(...buttons);
    const isSettling = state.mode === MODES.settle;
    find("cannot-tell").setAttribute("aria-pressed", String(value === CANNOT_TELL));
    find("cannot-tell").disabled = isMissing || isSettling;
    find("note").disabled = isMissing;
    find("skip").disabled = isSettling;
    find("waiting").textContent = describeWaiting(query, value, isMissing);
  }

  function describeWaiting(query, value, isMissing) {
    if (isMissing) return "Waiting for a document that search missed, or for the next query";
    if (isSkipped(query)) return "This query is skipped. Grade a document to include it again.";
    if (value !== undefined) return `Graded: ${getWord(query, value)}. Another grade replaces it.`;
    return state.mode === MODES.settle ? "Waiting for your decision" : "Waiting for your grade of this document";
  }

  /** Whether a field is shown as a picture: its data, or a file next to the page. */
  function isPicture(value) {
    if (/^data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+$/.test(value)) return true;
    if (!/\.(png|jpe?g|gif|webp|avif|svg)\s*$/i.test(value)) return false;
    // The browser itself says what an address means. None that leaves the folder of the page is loaded.
    return [location.href, "https://page.invalid/folder/page"].every((base) => {
      try {
        return new URL(value, base).href.startsWith(new URL(".", base).href);
      } catch {
        return false;
      }
    });
  }

  function createDocument(query, doc) {
    const pictures = doc.fields.filter(([, value]) => isPicture(value));
    const others = doc.fields.filter(([, value]) => !isPicture(value));
    const images = pictures.map(([name, value]) =>
      createElement("img", { src: value, alt: `${name} of this document`, referrerpolicy: "no-referrer" }));
    const fields = others.map(([name, value]) =>
      createElement("div", {}, createElement("dt", {}, name), createElement("dd", { dir: "auto" }, value)));
    const hasText = doc.text && doc.text !== doc.title;
    const text = hasText ? createElement("div", { class: "text", dir: "auto", tabindex: 0 }, doc.text) : null;
    const content = createElement("div", { class: "content" }, [
      images.length ? createElement("div", { class: "pictures" }, images) : null,
      createElement("div", {}, fields.length ? createElement("dl", { class: "fields" }, fields) : null, text),
    ]);
    const opinions = state.mode !== MODES.settle ? [] : doc.opinions.map(([name, grade]) => {
      const assessor = createElement("b", { dir: "auto" }, name || "the suite");
      return createElement("li", { "data-level": getLevel(query, grade) }, assessor, ` ${getWord(query, grade)}`);
    });
    return [
      createElement("h2", { dir: "auto" }, doc.title),
      ...(doc.title === doc.id ? [] : [createElement("p", { class: "muted", dir: "auto" }, doc.id)]),
      content,
      ...(opinions.length ? [createElement("ul", { class: "opinions" }, opinions)] : []),
      createNoteField(query, doc.id),
    ];
  }

  function createNoteField(query, docId) {
    const area = createElement("textarea", { rows: 2, maxlength: 2000 });
    area.value = getRecord(query, docId)?.note ?? "";
    area.addEventListener("input", () => setRecord(query, docId, { ...getRecord(query, docId), note: area.value }));
    area.addEventListener("keydown", (event) => event.key === "Escape" && find("document").focus());
    return createElement("label", { class: "note-field", hidden: !area.value }, "Note", area);
  }

  // -- Adding a document that search missed --------------------------------------------------------

  function createAdding(query) {
    const { known } = data.suites[query.suite];
    const label = known.size ? `Search ${formatCount(known.size, "document")} by words or id` : "Type the id of the document";
    const matches = createElement("div", { class: "matches" });
    const input = createElement("input", { type: "search", id: "missing", autocomplete: "off", oninput: () => drawMatches() });
    const createMatch = (docId, title) => {
      const names = [createElement("span", { dir: "auto" }, title || docId), createElement("small", { dir: "auto" }, docId)];
      return createButton(names, () => addDocument(docId), { class: "wide" });
    };
    // An id that no document is known to have may be a typing error, so it takes a second press.
    const createUnknown = (docId) => createButton(`Use “${docId}” as an id`, (event) => {
      event.currentTarget.disabled = true;
      const confirm = createButton("Add it anyway", () => addDocument(docId));
      matches.append(createElement("p", {}, `No known document has the id “${docId}”. `, confirm));
    });
    const drawMatches = () => {
      const word = input.value.trim();
      const lowered = word.toLowerCase();
      const isMatch = ([docId, { title }]) => docId.toLowerCase().includes(lowered) || title.toLowerCase().includes(lowered);
      const found = word ? [...known].filter(isMatch).slice(0, MAX_MATCHES) : [];
      const buttons = found.map(([docId, { title }]) => createMatch(docId, title));
      if (word && !known.has(word)) buttons.push(createUnknown(word));
      matches.replaceChildren(...buttons);
    };
    return [
      createElement("h2", {}, "Is a document missing that should have been found?"),
      createElement("label", { for: "missing" }, label),
      input,
      matches,
    ];
  }

  function addDocument(docId) {
    const query = getQuery();
    if (!listDocIds(query).includes(docId)) setRecord(query, docId, { date: "" });
    visitDocument(docId);
    announce("Added. Now give it a grade.");
  }

  // -- Moving --------------------------------------------------------------------------------------

  function visitDocument(docId) {
    state.docId = docId;
    find("done").hidden = true;
    find("document").hidden = false;
    drawDocumentList();
    drawDocument();
    drawProgress();
    if (state.isStarted) find("document").focus({ preventScroll: true });
    if (docId === MISSING) find("missing").focus({ preventScroll: true });
  }

  function visitQuery(position, docId) {
    state.position = position;
    const docIds = listDocIds(getQuery());
    state.docId = docId ?? docIds.find((id) => isOpen(getQuery(), id)) ?? docIds[0];
    drawQuery();
    visitDocument(state.docId);
    find("queries").hidePopover?.();
    scrollTo(0, 0);
  }

  /** Go to the next document without a grade, in this query and then in those after it. */
  function advance(message) {
    const open = drawProgress();
    announce(`${message}. ${find("count").textContent}.`);
    for (let step = 0; open && step < state.queries.length; step += 1) {
      const position = (state.position + step) % state.queries.length;
      const query = state.queries[position];
      const docIds = listDocIds(query);
      const start = step ? 0 : docIds.indexOf(state.docId);
      const following = [...docIds.slice(start), ...docIds.slice(0, start)];
      const next = following.find((id) => isOpen(query, id));
      if (next === undefined) continue;
      if (step) visitQuery(position, next);
      else visitDocument(next);
      drawQueryList();
      return;
    }
    drawQuery();
    find("document").hidden = true;
    find("done").hidden = false;
    find("file-name").textContent = getFileName();
    find("waiting").textContent = "Nothing is left to grade. Save the file.";
    for (const button of [...find("grades").children, find("cannot-tell"), find("note")]) button.disabled = true;
    find("done").focus();
  }

  function stepDocument(step) {
    const docIds = listDocIds(getQuery());
    const next = docIds[docIds.indexOf(state.docId) + step];
    if (next !== undefined) visitDocument(next);
    else stepQuery(step);
  }

  function stepQuery(step) {
    const position = state.position + step;
    if (state.queries[position]) visitQuery(position);
  }

  // -- Grading -------------------------------------------------------------------------------------

  function giveGrade(value) {
    const query = getQuery();
    if (state.docId === MISSING || !find("done").hidden) return;
    if (isSkipped(query)) setRecord(query, QUERY_ITSELF, undefined);
    changeRecord(query, state.docId, { [state.mode.column]: value });
    advance(value === CANNOT_TELL ? "Cannot tell" : getWord(query, value));
  }

  function skipQuery(reason) {
    changeRecord(getQuery(), QUERY_ITSELF, { note: reason });
    advance("Skipped");
  }

  function openSkipDialog() {
    if (state.mode === MODES.settle) return;
    find("reason").value = "";
    find("skip-dialog").showModal();
  }

  function undo() {
    const last = state.undo.pop();
    find("undo").disabled = !state.undo.length;
    if (!last) return;
    setRecord(last.query, last.docId, last.before);
    visitQuery(state.queries.indexOf(last.query), last.docId || undefined);
    announce("Undone.");
  }

  function openNote() {
    const field = find("document").querySelector(".note-field");
    if (!field) return;
    field.hidden = false;
    field.querySelector("textarea").focus();
  }

  // -- Files ---------------------------------------------------------------------------------------

  function getFileName() {
    const name = state.name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "anybody";
    return `${data.stem}.judgments-${name}.csv`;
  }

  function saveGrades() {
    const rows = [...state.records].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([key, record]) => {
      const [queryId, text, docId] = JSON.parse(key);
      const isGiven = record.grade !== undefined || record.decision !== undefined || docId === QUERY_ITSELF;
      return isGiven ? [[queryId, text, docId, record.grade, record.decision, state.name, record.date, record.note]] : [];
    });
    saveCsv(getFileName(), [data.columns, ...rows]);
    announce(`Saved ${getFileName()}.`);
  }

  /** Read the rows of a CSV file, with apostrophes before possible formulas taken away. */
  function parseCsv(text) {
    const rows = [[]];
    for (const match of text.replace(/^\ufeff/, "").matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|\r|$)/gy)) {
      const value = match[1] === undefined ? match[2] : match[1].replaceAll('""', '"');
      rows.at(-1).push(value.replace(FORMULA, (start) => start.replace(/'$/, "")));
      if (!match[3]) break;
      if (match[3] !== ",") rows.push([]);
    }
    return rows.filter((row) => row.some(Boolean));
  }

  function parseGrade(text, line, grades) {
    if (text === "") return undefined;
    const value = Number(text);
    if (!grades.includes(value)) throw new Error(`line ${line}: ${text} is not one of the grades ${grades.join(", ")}`);
    return value;
  }

  /** Bring in the rows of one person from a saved file. The later grade of a document counts. */
  function importGrades(text) {
    const [header, ...lines] = parseCsv(text);
    const places = data.columns.map((name) => header.indexOf(name));
    if (places.includes(-1)) throw new Error(`its first line does not name the columns ${data.columns.join(", ")}`);
    const rows = lines.map((line) => places.map((place) => line[place] ?? ""));
    const names = [...new Set(rows.map((row) => row[5]))];
    const name = find("name").value.trim() || (names.length === 1 ? names[0] : "");
    if (!name) throw new Error(`it has grades from ${names.join(" and ")}. Write your name first`);
    find("name").value = name;
    const records = readStore(getStoreName(name));
    const grades = [...new Set(data.suites.flatMap((suite) => suite.scale.map((entry) => entry.grade)))];
    let count = 0;
    rows.forEach(([id, queryText, docId, rating, decision, assessor, date, note], index) => {
      if (assessor !== name) return;
      if (Date.parse(date) > Date.now() + DAY_MS) throw new Error(`line ${index + 2}: the date ${date} is in the future`);
      const grade = parseGrade(rating, index + 2, grades);
      const decided = parseGrade(decision, index + 2, grades);
      const key = JSON.stringify([id, queryText, docId]);
      if (Date.parse(records[key]?.date) > Date.parse(date)) return;
      const record = { ...records[key], date, note };
      if (grade !== undefined) record.grade = grade;
      else if (decided === undefined && docId !== QUERY_ITSELF) record.grade = CANNOT_TELL;
      if (decided !== undefined) record.decision = decided;
      records[key] = record;
      count += 1;
    });
    localStorage.setItem(getStoreName(name), JSON.stringify(records));
    const others = rows.length - count;
    const rest = others ? `, ${formatCount(others, "other row")} left out` : "";
    return `Read ${formatCount(count, "row")} by ${name}${rest}.`;
  }

  // -- The beginning -------------------------------------------------------------------------------

  const getChosenMode = () => document.querySelector("[name=mode]:checked").value;

  /** Say how much there is to do in each mode, and what this browser already has. */
  function drawStart() {
    const name = find("name").value.trim();
    const counts = {};
    for (const [key, mode] of Object.entries(MODES)) {
      const queries = selectQueries(mode, name || "a new person"); // grades in the suite have an empty name
      const count = queries.reduce((sum, query) => sum + query.asked.length, 0);
      const size = `${formatCount(count, "document")} of ${formatCount(queries.length, "query", "queries")}`;
      find(`mode-${key}`).textContent = `${mode.title}: ${size}`;
      // A second opinion on what nobody has graded is no other choice.
      const isRepeated = key === "second" && count === counts.fresh;
      counts[key] = count;
      find(`mode-${key}`).parentElement.hidden = (!queries.length || isRepeated) && key !== "fresh";
    }
    const kept = name ? Object.keys(readStore(getStoreName(name))).length : 0;
    const waiting = name ? "" : "Type your name to start.";
    const welcome = `Welcome back. This browser has kept your ${formatCount(kept, "grade")}.`;
    find("welcome").textContent = kept ? welcome : waiting;
    find("go").textContent = kept ? "Continue" : "Start";
    find("go").disabled = !name;
  }

  function start() {
    state.name = find("name").value.trim();
    state.mode = MODES[getChosenMode()];
    state.records = new Map(Object.entries(readStore(getStoreName(state.name))));
    state.queries = selectQueries(state.mode, state.name);
    find("who").textContent = `graded by ${state.name}`;
    state.isStarted = true;
    if (!state.queries.length) {
      find("query").textContent = "Nothing is left to grade.";
      return;
    }
    const first = state.queries.findIndex((query) => countOpen(query) > 0);
    visitQuery(Math.max(0, first));
  }

  const KEYS = {
    j: () => stepDocument(1),
    k: () => stepDocument(-1),
    "[": () => stepQuery(-1),
    "]": () => stepQuery(1),
    x: () => state.mode !== MODES.settle && giveGrade(CANNOT_TELL),
    a: () => state.mode !== MODES.settle && visitDocument(MISSING),
    s: openSkipDialog,
    u: undo,
    n: openNote,
    "?": () => find("help").showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !state.queries.length) return;
    if (document.querySelector("dialog[open]") || event.target.closest("input, textarea")) return;
    const entry = getScale(getQuery()).find(({ key }) => key && key === event.key);
    const act = entry ? () => giveGrade(entry.grade) : KEYS[event.key];
    if (!act || (event.repeat && !"jk".includes(event.key))) return;
    event.preventDefault();
    act();
    find("undo").disabled = !state.undo.length;
  });

  document.addEventListener("click", () => { find("undo").disabled = !state.undo.length; });
  find("undo").addEventListener("click", undo);
  find("save").addEventListener("click", saveGrades);
  find("save-done").addEventListener("click", saveGrades);
  find("cannot-tell").addEventListener("click", () => giveGrade(CANNOT_TELL));
  find("note").addEventListener("click", openNote);
  find("skip").addEventListener("click", openSkipDialog);
  find("previous").addEventListener("click", () => stepQuery(-1));
  find("next").addEventListener("click", () => stepQuery(1));
  find("open-help").addEventListener("click", () => find("help").showModal());
  find("skip-dialog").addEventListener("click", ({ target }) => target.type === "button" && find("skip-dialog").close(target.value));
  find("skip-dialog").addEventListener("close", () => {
    const { returnValue } = find("skip-dialog");
    const reason = returnValue === "written" ? find("reason").value.trim() : returnValue;
    find("skip-dialog").returnValue = "";
    if (reason) skipQuery(reason);
  });
  find("name").addEventListener("input", drawStart);
  find("file").addEventListener("change", async () => {
    const [file] = find("file").files;
    if (!file) return;
    try {
      find("file-said").textContent = importGrades(await file.text());
      drawStart();
    } catch (error) {
      find("file-said").textContent = `${file.name} cannot be used: ${error.message}.`;
    }
    find("file").value = "";
  });
  find("start").addEventListener("cancel", (event) => event.preventDefault());
  find("start").addEventListener("close", start);
  addEventListener("hashchange", () => location.hash !== "#main" && location.reload());

  const scale = data.suites[0].scale.map(({ word, key }, index, all) => {
    const level = Math.round((3 * index) / Math.max(1, all.length - 1));
    return createElement("li", { "data-level": level }, word, key ? createElement("kbd", {}, key) : null);
  });
  find("scale").replaceChildren(...scale);
  const addressed = data.queries.filter(isAddressed).length;
  find("chosen").hidden = addressed === data.queries.length;
  find("chosen").firstElementChild.textContent = `This link shows ${addressed} of ${formatCount(data.queries.length, "query", "queries")}.`;
  const lastName = readStore("irquality name");
  find("name").value = typeof lastName === "string" ? lastName : "";
  drawStart();
  find("start").showModal();
  document.documentElement.dataset.ready = "true";
})();
