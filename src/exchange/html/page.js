// What makes the exported page more than text: search, theme, folding. Without it everything can
// still be read. Nothing is fetched and nothing is kept but the choice of theme.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const by = (id) => document.getElementById(id);
  const find = by("find"), found = by("found"), unfold = by("unfold"), theme = by("theme"), nothing = by("nothing");
  const said = [...document.querySelectorAll(".said")];
  const branches = [...document.querySelectorAll("details.branch")];
  const days = [...document.querySelectorAll(".day")];
  const rangesMax = 3000; // highlights; what is beyond is still found

  // ---- theme: the system's until somebody chooses ----
  const remembered = () => { try { return localStorage.getItem("reef-theme"); } catch { return null; } };
  const remember = (value) => { try { localStorage.setItem("reef-theme", value); } catch { /* a private window */ } };
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const nameTheme = () => {
    theme.textContent = dark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", dark() ? "Use the light theme" : "Use the dark theme");
  };
  if (remembered() === "dark" || remembered() === "light") root.dataset.theme = remembered();
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    remember(root.dataset.theme);
    nameTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();

  // ---- folding ----
  const folds = () => document.querySelectorAll("details");
  const nameUnfold = () => { unfold.textContent = unfold.dataset.open ? "Fold all" : "Unfold all"; };
  unfold.addEventListener("click", () => {
    unfold.dataset.open = unfold.dataset.open ? "" : "yes";
    for (const fold of folds()) fold.open = Boolean(unfold.dataset.open);
    nameUnfold();
  });
  unfold.hidden = folds().length === 0;
  nameUnfold();

  // ---- search ----
  const texts = new Map(); // element -> its text in lower case, made when first looked at
  const textOf = (element) => {
    let text = texts.get(element);
    if (text === undefined) texts.set(element, text = element.textContent.toLowerCase());
    return text;
  };
  const canMark = typeof Highlight === "function" && CSS.highlights;
  let ranges = [], at = -1, opened = [];

  const foldsAround = (node) => {
    const around = [];
    for (let e = node.parentElement; e; e = e.parentElement) if (e.localName === "details") around.push(e);
    return around;
  };
  const reveal = (node) => {
    for (const fold of foldsAround(node)) if (!fold.open) { fold.open = true; opened.push(fold); }
  };
  const rangesIn = (element, words) => {
    const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node && ranges.length < rangesMax; node = walk.nextNode()) {
      const text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue; // places would not be the same
      for (let i = text.indexOf(words); i >= 0 && ranges.length < rangesMax; i = text.indexOf(words, i + words.length)) {
        const range = new Range();
        range.setStart(node, i);
        range.setEnd(node, i + words.length);
        ranges.push(range);
        reveal(node);
      }
    }
  };
  const mark = () => {
    if (!canMark) return;
    CSS.highlights.delete("here");
    CSS.highlights.set("hit", new Highlight(...ranges));
    if (at >= 0) CSS.highlights.set("here", new Highlight(ranges[at]));
  };
  const search = () => {
    const words = find.value.trim().toLowerCase();
    for (const fold of opened) fold.open = false;
    opened = [];
    ranges = [];
    at = -1;
    let count = 0;
    for (const element of said) {
      const hit = !words || textOf(element).includes(words);
      element.hidden = !hit;
      if (!hit) continue;
      ++count;
      if (words) {
        const before = ranges.length;
        rangesIn(element, words);
        // Found, but over the edges of several pieces of text: shown all the same.
        if (ranges.length === before) reveal(element);
      }
    }
    for (const branch of branches)
      branch.hidden = Boolean(words) && !branch.querySelector(".said:not([hidden])");
    for (const day of days) day.hidden = Boolean(words);
    nothing.hidden = count > 0;
    found.textContent = words ? `${count} of ${said.length}` : "";
    mark();
  };
  const go = (step) => {
    if (ranges.length === 0) return;
    at = at < 0 ? (step > 0 ? 0 : ranges.length - 1) : (at + step + ranges.length) % ranges.length;
    mark();
    const place = ranges[at].startContainer.parentElement;
    place.scrollIntoView({ block: "center" });
  };
  let waiting = 0;
  find.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, said.length > 1000 ? 120 : 0);
  });
  find.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); go(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { find.value = ""; search(); find.blur(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target === find) return;
    event.preventDefault();
    find.focus();
    find.select();
  });

  // ---- a link to a message inside a fold ----
  const toTarget = () => {
    const target = location.hash && by(location.hash.slice(1));
    if (!target) return;
    for (const fold of foldsAround(target)) fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", toTarget);
  toTarget();
})();
