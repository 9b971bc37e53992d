/* Draws the charts and upgrades the tables of this suite. The same file serves the report and JupyterLab; no network. */
window.helpersKit = (function () {
  "use strict";
  var here = document.currentScript && document.currentScript.src;
  var DARK = /*DARK*/{"#20262e":"#e4e8ee","#57606c":"#a3adba","#dfe3e8":"#343b45","#ffffff":"#16191d","#386ae1":"#5f88eb","#c8841f":"#e08428","#0e9d7a":"#53e8c0","#7a2f9f":"#d7a5df","#8d2f0c":"#cb5062","#565c66":"#9298a2","#570f2e":"#f1e79a","black":"#e4e8ee","white":"#16191d"}/*END*/;
  var vega = null;

  function isDark() {
    var html = document.documentElement, body = document.body;
    if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false";
    return html.classList.contains("quarto-dark") || body.classList.contains("quarto-dark") ||
      html.dataset.bsTheme === "dark" || html.dataset.scheme === "alternate";
  }

  /* Vega comes from the packed copy in a notebook, or from the report's shared file. */
  function loadVega() {
    if (window.vegaEmbed && window.helpersVega) return Promise.resolve();
    if (vega) return vega;
    if (window.helpersVegaPacked) {
      var bytes = Uint8Array.from(atob(window.helpersVegaPacked), function (c) { return c.charCodeAt(0); });
      var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      vega = new Response(stream).text().then(function (code) { (0, eval)(code); window.helpersVega = true; });
    } else {
      vega = new Promise(function (done, failed) {
        var tag = document.createElement("script");
        tag.src = new URL("../report/assets/vega.js", here || document.baseURI).href;
        tag.onload = function () { window.helpersVega = true; done(); };
        tag.onerror = function () { failed(new Error("the shared chart file is missing")); };
        document.head.appendChild(tag);
      });
    }
    return vega;
  }

  function recoloured(value, key) {
    if (typeof value === "string") return Object.prototype.hasOwnProperty.call(DARK, value) ? DARK[value] : value;
    if (Array.isArray(value)) return value.map(function (v) { return recoloured(v, key); });
    if (value && typeof value === "object") {
      var out = {};
      Object.keys(value).forEach(function (k) {
        out[k] = k === "datasets" || k === "values" || k === "data" ? value[k] : recoloured(value[k], k);
      });
      return out;
    }
    return value;
  }

  /* A chart for a narrow page: panels below one another, the names of rows above their marks (beside tiles and bars, which
     fill their rows: short), nothing scaled down. */
  var NARROW = 560, ROW = 34, NAME = 96;
  function narrowed(spec, room, filled) {
    var many = spec.hconcat || spec.concat, out = {};
    var full = filled === undefined ? /"(rect|bar)"/.test(JSON.stringify(spec.layer || spec.mark || "")) : filled;
    Object.keys(spec).forEach(function (k) { out[k] = spec[k]; });
    if (many) { delete out.hconcat; delete out.concat; delete out.columns; out.vconcat = many; }
    if (out.facet && out.facet.field && out.spec) out.columns = 1;
    ["layer", "vconcat"].forEach(function (k) {
      if (out[k]) out[k] = out[k].map(function (s) { return narrowed(s, room, k === "layer" ? full : undefined); });
    });
    if (out.spec) out.spec = narrowed(out.spec, room);
    var y = out.encoding && out.encoding.y, above = y && (y.type === "nominal" || y.type === "ordinal") && y.axis !== null;
    if (above) {
      var axis = full ? { labelLimit: NAME } : { labelAlign: "left", labelBaseline: "bottom", labelPadding: 0, labelOffset: -7, labelLimit: room, ticks: false, domain: false, offset: 0 };
      out.encoding = Object.assign({}, out.encoding, { y: Object.assign({}, y, { axis: Object.assign({}, y.axis || {}, axis) }) });
    }
    if (full) room = room - NAME + 40;
    if (typeof out.width === "number" && out.width > room) out.width = room;
    if (out.width && out.width.step) out.width = room;
    if (out.height && out.height.step) out.height = { step: Math.max(out.height.step, ROW) };
    return out;
  }
  function fitting(figure, spec) {
    var room = figure.clientWidth;
    if (!room || room >= NARROW || document.body.dataset.jpThemeLight) return spec;
    var out = narrowed(spec, Math.max(220, room - 60)), config = out.config || {};
    out.config = Object.assign({}, config, { legend: Object.assign({}, config.legend, { columns: 1, orient: "top" }) });
    return out;
  }

  function draw(figure) {
    var source = figure.querySelector(".hp-spec"), plot = figure.querySelector(".hp-plot");
    if (!source || !plot) return Promise.resolve();
    figure.dataset.state = "drawing";
    var dark = isDark(), spec = JSON.parse(source.textContent);
    figure.dataset.dark = dark;
    spec = fitting(figure, spec);
    if (dark) spec = recoloured(spec);
    return loadVega().then(function () {
      return window.vegaEmbed(plot, spec, { renderer: "svg", actions: false, tooltip: { theme: dark ? "dark" : "light" } });
    }).then(function (result) {
      var svg = plot.querySelector("svg"), picture = figure.querySelector(".hp-picture");
      if (svg) {
        svg.setAttribute("role", "img"); svg.setAttribute("aria-label", picture ? picture.alt : figure.dataset.title);
        // one picture with one text: some of Vega's mark groups have a role and no name
        Array.from(svg.children).forEach(function (part) { part.setAttribute("aria-hidden", "true"); });
      }
      if (figure.helpersView) figure.helpersView.finalize();
      figure.helpersView = result;
      figure.classList.add("hp-drawn");
      figure.dataset.state = "drawn";
      if (svg) { walk(figure, svg); highlight(figure, svg, source.textContent); }
      chartLinks(figure, JSON.parse(source.textContent));
    }).catch(function (error) {
      figure.dataset.state = "failed";
      figure.classList.remove("hp-drawn");
      console.error("chart " + figure.id + ": " + (error && error.message || error));
    });
  }

  /* What a mouse finds by hovering, a keyboard finds with the arrow keys: one mark after the other, its values in words. */
  function walk(figure, svg) {
    var at = -1, said = figure.querySelector(".hp-said");
    function marks() {
      return Array.from(svg.querySelectorAll(".role-mark *")).filter(function (e) { return e.__data__ && e.__data__.tooltip; });
    }
    if (!marks().length) return;
    if (!said) {
      said = document.createElement("div");
      said.className = "hp-said"; said.setAttribute("aria-live", "polite");
      figure.appendChild(said);
    }
    function leave() {
      svg.querySelectorAll(".hp-at").forEach(function (e) { e.classList.remove("hp-at"); });
      said.textContent = "";
    }
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("focus", function () { said.textContent = "Arrow keys: from mark to mark. Enter: as a click. Escape: leave."; });
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", function (event) {
      var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], all = marks(), values;
      if (event.key === "Escape") { at = -1; leave(); }
      if (!all.length || (!step && (event.key !== "Enter" || at < 0))) return;
      event.preventDefault();
      if (!step) { all[at % all.length].dispatchEvent(new MouseEvent("click", { bubbles: true })); return; }
      at = at < 0 ? (step > 0 ? 0 : all.length - 1) : (at + step + all.length) % all.length;
      leave();
      all[at].classList.add("hp-at");
      values = all[at].__data__.tooltip;
      said.textContent = (at + 1) + " of " + all.length + ": " + (typeof values === "object" ?
        Object.keys(values).map(function (k) { return k + " " + values[k]; }).join(", ") : String(values));
    });
  }

  /* A click brings forward all marks of one thing, in every panel; a chart that selects by itself is left alone. */
  var THINGS = ["text", "instruction", "model", "test set", "trait", "source", "line", "what", "pool", "style", "training", "task", "row"];
  function highlight(figure, svg, source) {
    if (source.indexOf('"select":') >= 0) return;
    var chosen = null;
    function datum(element) { return element.closest(".role-mark") && element.__data__ && element.__data__.datum || {}; }
    function show(key, value) {
      chosen = key ? key + "=" + value : null;
      svg.querySelectorAll(".role-mark *").forEach(function (e) {
        var own = datum(e);
        e.classList.toggle("hp-faint", !!key && key in own && own[key] !== value);
      });
    }
    svg.addEventListener("click", function (event) {
      var own = datum(event.target), key = THINGS.filter(function (k) { return k in own; })[0];
      if (key && chosen !== key + "=" + own[key]) show(key, own[key]); else show();
    });
    svg.addEventListener("keydown", function (event) { if (event.key === "Escape") show(); });
    figure.addEventListener("change", function () { show(); }); // another model is chosen below: its marks are new
  }

  function save(name, type, text) {
    var blob = text instanceof Blob ? text : new Blob([text], { type: type }), link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 10000);
  }

  function button(label, title, action) {
    var b = document.createElement("button");
    b.type = "button"; b.textContent = label; b.title = title;
    b.addEventListener("click", action);
    return b;
  }

  function chartLinks(figure, spec) {
    if (figure.querySelector(".hp-links")) return;
    var row = document.createElement("div"), sets = spec.datasets || {}, names = Object.keys(sets);
    row.className = "hp-links";
    row.appendChild(button("SVG", "Download the picture as SVG", function () {
      figure.helpersView.view.toSVG().then(function (svg) { save(figure.id + ".svg", "image/svg+xml", svg); });
    }));
    row.appendChild(button("PNG", "Download the picture as PNG", function () {
      figure.helpersView.view.toCanvas(2).then(function (c) { c.toBlob(function (b) { save(figure.id + ".png", "image/png", b); }); });
    }));
    names.forEach(function (key, n) {
      var label = names.length > 1 ? "Data " + (n + 1) : "Data";
      row.appendChild(button(label, "Download the data behind the figure as CSV", function () {
        save(figure.id + (n ? "-" + (n + 1) : "") + ".csv", "text/csv", recordsToCsv(sets[key]));
      }));
    });
    figure.appendChild(row);
  }

  function cell(value) {
    var text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    // A spreadsheet takes a text that begins so for a formula; numbers stay numbers (as in prompt_review.guarded).
    if (/^[=+\-@\t\r]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) text = "'" + text;
    return /[",\r\n]/.test(text) || text !== text.trim() ? '"' + text.replace(/"/g, '""') + '"' : text;
  }
  function recordsToCsv(records) {
    var keys = [];
    records.forEach(function (r) { Object.keys(r).forEach(function (k) { if (keys.indexOf(k) < 0) keys.push(k); }); });
    return [keys].concat(records.map(function (r) { return keys.map(function (k) { return r[k]; }); }))
      .map(function (row) { return row.map(cell).join(","); }).join("\r\n") + "\r\n";
  }

  /* ---- tables: sort, search, download ---- */
  function exact(td) { return td.dataset.v !== undefined ? td.dataset.v : td.textContent; }
  function tex(text) {
    return text.replace(/[\\{}$&#^_~%]/g, function (c) {
      return { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" }[c] || "\\" + c;
    });
  }
  function grid(box, value) {
    return Array.from(box.querySelectorAll("tr")).filter(function (tr) { return !tr.hidden; }).map(function (tr) {
      return Array.from(tr.cells).map(function (c) { return c.tagName === "TH" ? c.dataset.v : value(c); });
    });
  }
  function latex(box) {
    var rows = grid(box, function (c) { return c.textContent; }), heads = box.querySelectorAll("th");
    var align = Array.from(heads).map(function (h) { return h.classList.contains("num") ? "r" : "l"; }).join("");
    var line = function (r) { return r.map(tex).join(" & ") + " \\\\"; };
    return "\\begin{tabular}{" + align + "}\n\\toprule\n" + line(rows[0]) + "\n\\midrule\n" +
      rows.slice(1).map(line).join("\n") + "\n\\bottomrule\n\\end{tabular}\n";
  }

  function upgradeTable(box) {
    var tableEl = box.querySelector("table"), body = tableEl && tableEl.tBodies[0];
    if (!body || box.dataset.state) return;
    box.dataset.state = "ready";
    var rows = Number(box.dataset.rows), heads = Array.from(tableEl.tHead.rows[0].cells);
    heads.forEach(function (th) { th.dataset.v = th.textContent; });
    var scroll = box.querySelector(".hp-scroll");
    if (scroll.scrollWidth > scroll.clientWidth + 1 || rows > 15) {
      scroll.tabIndex = 0; scroll.setAttribute("role", "region");
      scroll.setAttribute("aria-label", tableEl.caption ? tableEl.caption.textContent : box.dataset.name);
    }
    if (rows > 15) box.classList.add("hp-tall");
    var tools = document.createElement("div");
    tools.className = "hp-links";
    if (rows > 8) {
      var field = document.createElement("input"), count = document.createElement("span");
      field.type = "search"; field.placeholder = "Search " + rows + " rows"; field.setAttribute("aria-label", "Search this table");
      count.className = "hp-count"; count.setAttribute("role", "status");
      field.addEventListener("input", function () {
        var words = field.value.toLowerCase().split(/\s+/).filter(Boolean), left = 0;
        Array.from(body.rows).forEach(function (tr) {
          var text = tr.textContent.toLowerCase();
          tr.hidden = !words.every(function (w) { return text.indexOf(w) >= 0; });
          if (!tr.hidden) left++;
        });
        count.textContent = words.length ? left + " of " + rows : "";
      });
      tools.appendChild(field); tools.appendChild(count);
    }
    if (rows > 3) heads.forEach(function (th, k) { sortable(th, k, body, heads); });
    if (rows > 0) {
      tools.appendChild(button("CSV", "Download this table as CSV (exact values)", function () {
        save(box.dataset.name + ".csv", "text/csv", grid(box, exact).map(function (r) { return r.map(cell).join(","); }).join("\r\n") + "\r\n");
      }));
      tools.appendChild(button("LaTeX", "Download this table as LaTeX (booktabs)", function () {
        save(box.dataset.name + ".tex", "text/x-tex", latex(box));
      }));
    }
    box.appendChild(tools);
  }

  function sortable(th, k, body, heads) {
    var b = document.createElement("button");
    b.type = "button"; b.className = "hp-sort"; b.textContent = th.textContent; b.title = "Sort";
    th.textContent = ""; th.appendChild(b);
    b.addEventListener("click", function () {
      var down = th.getAttribute("aria-sort") === "ascending", number = th.classList.contains("num");
      heads.forEach(function (h) { h.removeAttribute("aria-sort"); });
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      Array.from(body.rows).map(function (tr, n) {
        var v = exact(tr.cells[k]);
        return { tr: tr, n: n, v: number ? (v === "" ? NaN : Number(v.replace(/,/g, ""))) : v };
      }).sort(function (a, b2) {
        if (number && (isNaN(a.v) || isNaN(b2.v))) return isNaN(a.v) - isNaN(b2.v) || a.n - b2.n;  // missing stays last
        var d = number ? a.v - b2.v : a.v.localeCompare(b2.v, "en", { numeric: true });
        return (down ? -d : d) || a.n - b2.n;
      }).forEach(function (row) { body.appendChild(row.tr); });
    });
  }

  function scan() {
    var waiting = Array.from(document.querySelectorAll("figure.hp-chart:not([data-state])"));
    document.querySelectorAll(".hp-table:not([data-state])").forEach(upgradeTable);
    // one after the other, so that a page with many charts stays responsive
    return waiting.reduce(function (before, figure) {
      figure.dataset.state = "waiting";
      return before.then(function () { return draw(figure); });
    }, Promise.resolve());
  }

  /* Pages opened as files: the browser refuses to fetch the search index there, so it comes as a script. */
  function searchFromFile() {
    if (location.protocol !== "file:" || !window.fetch) return;
    var fetch = window.fetch;
    window.shownWarning = true;  // Quarto's notice that files are not searched; here they are
    window.fetch = function (url) {
      if (!/(^|\/)search\.json$/.test(String(url && url.url || url))) return fetch.apply(window, arguments);
      return new Promise(function (done, failed) {
        var answer = function () { done(new Response(JSON.stringify(window.helpersSearch))); };
        if (window.helpersSearch) { answer(); return; }
        var tag = document.createElement("script");
        tag.src = new URL("../report/assets/search.js", here || document.baseURI).href;
        tag.onload = answer; tag.onerror = failed;
        document.head.appendChild(tag);
      });
    };
  }
  searchFromFile();

  /* What a keyboard or a screen reader needs and the renderers leave out: wide code scrolls, landmarks have names. */
  function reachable() {
    document.querySelectorAll("main pre").forEach(function (pre) {
      if (pre.scrollWidth > pre.clientWidth || pre.scrollHeight > pre.clientHeight) pre.tabIndex = 0;
    });
    var pages = document.getElementById("quarto-sidebar");
    if (pages && !pages.getAttribute("aria-label")) pages.setAttribute("aria-label", "Pages of the report");
  }

  function watch() {
    reachable();
    var again = function () {
      var dark = String(isDark());
      document.querySelectorAll('figure.hp-chart[data-state="drawn"]').forEach(function (f) { if (f.dataset.dark !== dark) draw(f); });
    };
    var observer = new MutationObserver(again), seen = { attributes: true, attributeFilter: ["class", "data-bs-theme", "data-scheme", "data-jp-theme-light"] };
    observer.observe(document.documentElement, seen);
    observer.observe(document.body, seen);
    scan();
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", watch); else setTimeout(watch, 0);
  return { scan: scan, draw: draw };
})();
