/* The board of the landing page: choose prompts, watch the ranks. Counts points as the package's `borda` does. */
window.helpersBoard = (function () {
  "use strict";

  /* scores[model][task], null where there is none: points per model. A beaten model is a point, an equal one half. */
  function points(scores) {
    var n = scores.length;
    return scores.map(function (own, a) {
      return own.reduce(function (sum, score, t) {
        if (score === null) return sum;
        for (var b = 0; b < n; b++) {
          if (b === a) continue;
          var other = scores[b][t];
          sum += other === null || other < score ? 1 : other === score ? 0.5 : 0;
        }
        return sum;
      }, 0);
    });
  }

  /* Equal points share the best of their ranks; a model without any score has none. */
  function ranks(scores) {
    var total = points(scores), has = scores.map(function (own) { return own.some(function (s) { return s !== null; }); });
    return total.map(function (p, a) {
      if (!has[a]) return null;
      return 1 + total.filter(function (q, b) { return has[b] && q > p; }).length;
    });
  }

  /* picks[model][task]: place in the list of that cell, -1 for nothing. */
  function chosen(data, picks) {
    return data.scores.map(function (row, m) {
      return row.map(function (cell, t) { return picks[m][t] < 0 || !cell.length ? null : cell[picks[m][t]][1]; });
    });
  }

  function copy(picks) { return picks.map(function (row) { return row.slice(); }); }
  function each(data, picks, change) {
    return picks.map(function (row, m) {
      return row.map(function (now, t) { var n = data.scores[m][t].length; return n ? change(m, t, n, now) : -1; });
    });
  }

  /* Only what differs from the defaults, as "target;model.task.place,…". */
  function written(data, picks, target) {
    var said = [];
    each(data, picks, function (m, t, n, now) {
      if (now !== data.defaults[m][t]) said.push(m + "." + t + "." + now);
    });
    return target + ";" + said.join(",");
  }
  function read(data, text) {
    var parts = text.split(";"), picks = copy(data.defaults), target = Number(parts[0]);
    (parts[1] || "").split(",").forEach(function (one) {
      var at = one.split(".").map(Number), row = data.scores[at[0]], cell = row && row[at[1]];
      if (at.length === 3 && cell && at[2] >= 0 && at[2] < cell.length && at[2] % 1 === 0) picks[at[0]][at[1]] = at[2];
    });
    return { picks: picks, target: data.models[target] === undefined ? 0 : target };
  }

  function make(tag, text, parent, name) {
    var e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (name) e.className = name;
    if (parent) parent.appendChild(e);
    return e;
  }
  function labelled(text, select, parent) {
    var label = make("label", text + " ", parent);
    label.appendChild(select);
    return select;
  }

  function build(box) {
    var data = JSON.parse(box.querySelector(".hp-board-data").textContent), view = box.querySelector(".hp-board-view");
    var state = { picks: copy(data.defaults), target: 0 }, start = ranks(chosen(data, data.defaults));
    view.textContent = "";
    var tools = make("div", undefined, view, "hp-board-tools"), target = document.createElement("select");
    data.models.forEach(function (name, m) { var o = make("option", name, target); o.value = m; });
    labelled("Model", target, tools);
    var actions = [
      ["Best for it", function (m, t, n, now) { return m === state.target ? 0 : now; }],
      ["Worst for the others", function (m, t, n, now) { return m === state.target ? now : n - 1; }],
      ["Draw all at random", function (m, t, n) { return Math.floor(Math.random() * n); }],
      ["All defaults", function (m, t) { return data.defaults[m][t]; }]
    ];
    actions.forEach(function (action) {
      var b = make("button", action[0], tools);
      b.type = "button";
      b.addEventListener("click", function () { state.picks = each(data, state.picks, action[1]); show(true); });
    });
    var table = make("table", undefined, make("div", undefined, view, "hp-scroll"), "hp-board-table");
    var said = make("p", "", view, "hp-board-said"), own = make("details", undefined, view);
    said.setAttribute("aria-live", "polite");
    make("summary", "Prompts of this model, task by task", own);
    var lists = make("div", undefined, own, "hp-board-lists");
    target.addEventListener("change", function () { state.target = Number(target.value); show(true); });

    function show(write) {
      var scores = chosen(data, state.picks), now = ranks(scores), sum = points(scores), changed = 0;
      each(data, state.picks, function (m, t, n, pick) { if (pick !== data.defaults[m][t]) changed++; });
      var order = data.models.map(function (_, m) { return m; }).sort(function (a, b) {
        return (now[a] === null) - (now[b] === null) || now[a] - now[b] || a - b;
      });
      table.textContent = "";
      make("caption", "Ranks with the chosen prompts", table);
      var head = make("tr", undefined, make("thead", undefined, table));
      ["rank", "model", "by default", "moved", "points", "mean score"].forEach(function (name) { make("th", name, head).scope = "col"; });
      var body = make("tbody", undefined, table);
      order.forEach(function (m) {
        var row = make("tr", undefined, body, m === state.target ? "hp-target" : ""), there = scores[m].filter(function (s) { return s !== null; });
        var by = start[m] === null || now[m] === null ? 0 : start[m] - now[m];
        make("td", now[m] === null ? "–" : now[m], row);
        make("th", data.models[m], row).scope = "row";
        make("td", start[m] === null ? "–" : start[m], row);
        make("td", by > 0 ? "▲ " + by : by < 0 ? "▼ " + -by : "", row, by > 0 ? "hp-up" : by < 0 ? "hp-down" : "");
        make("td", now[m] === null ? "–" : sum[m], row);
        make("td", there.length ? (there.reduce(function (a, b) { return a + b; }, 0) / there.length).toFixed(3) : "–", row);
      });
      var k = state.target;
      said.textContent = changed + (changed === 1 ? " cell has" : " cells have") + " another prompt than the default. " +
        data.models[k] + ": rank " + (now[k] === null ? "none" : now[k]) + ", by default " + (start[k] === null ? "none" : start[k]) + ".";
      lists.textContent = "";
      data.tasks.forEach(function (task, t) {
        var cell = data.scores[k][t], select;
        if (!cell.length) return;
        select = document.createElement("select");
        cell.forEach(function (pair, place) {
          var o = make("option", pair[1].toFixed(3) + "  " + data.prompts[pair[0]], select);
          o.value = place; o.selected = place === state.picks[k][t];
        });
        if (state.picks[k][t] < 0) select.selectedIndex = -1;
        select.addEventListener("change", function () { state.picks[k][t] = Number(select.value); show(true); });
        labelled(task, select, lists);
      });
      target.value = k;
      box.dataset.ranks = JSON.stringify(now);
      if (write) history.replaceState(null, "", "#board=" + written(data, state.picks, k));
    }
    function restore() {
      var given = /^#board=(.*)$/.exec(decodeURIComponent(location.hash));
      if (!given) return false;
      state = read(data, given[1]);
      return true;
    }
    window.addEventListener("hashchange", function () { if (restore()) show(false); });
    var wanted = restore();
    show(false);
    if (wanted) box.scrollIntoView();
  }

  function start() { document.querySelectorAll(".hp-board").forEach(build); }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
  return { points: points, ranks: ranks, written: written, read: read };
})();
