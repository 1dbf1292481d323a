(function () {
  "use strict";
  var traces = {}, labels = [], plot = null;
  document.querySelectorAll("script.trace").forEach(function (node) {
    traces[node.dataset.trial] = node;
    labels.push(node.dataset.trial);
  });
  if (!labels.length || typeof uPlot === "undefined") { return; }
  var colours = ["#0072b2", "#009e73", "#e69f00"], dashes = [[], [10, 4], [2, 3]];

  function values(node) {
    var text = atob(node.textContent.trim()), bytes = new Uint8Array(text.length);
    for (var i = 0; i < text.length; i++) { bytes[i] = text.charCodeAt(i); }
    var view = new DataView(bytes.buffer), points = Number(node.dataset.points), rows = [];
    for (var first = 0; first < bytes.length; first += 4 * points) {
      var row = new Float64Array(points);
      for (var k = 0; k < points; k++) { row[k] = view.getFloat32(first + 4 * k, true); }
      rows.push(row);
    }
    var times = new Float64Array(points);
    for (var t = 0; t < points; t++) { times[t] = Number(node.dataset.start) + t * Number(node.dataset.step); }
    return [times].concat(rows);
  }

  function series(name, place) {
    var line = { label: name, width: 1.2, points: { show: false } };
    if (name === "sum") { line.stroke = "#000000"; line.width = 2; }
    else if (name === "sum, corrected") { line.stroke = "#cc79a7"; line.width = 2; line.dash = [6, 4]; }
    else { line.stroke = colours[place % 3]; line.dash = dashes[place % 3]; }
    line.value = function (_, v) { return v === null || v === undefined ? "-" : v.toFixed(2); };
    return line;
  }

  function show(label) {
    var node = traces[label], place = document.getElementById("plot");
    if (plot) { plot.destroy(); }
    plot = new uPlot({
      width: place.clientWidth, height: 380, scales: { x: { time: false } },
      cursor: { drag: { x: true, y: true, uni: 30 } },
      axes: [{ label: "time after the first sample over the threshold [s]" },
             { label: node.dataset.unit === "N" ? "force [N]" : "reading [V]", size: 60 }],
      series: [{ label: "time [s]", value: function (_, v) { return v === null || v === undefined ? "-" : v.toFixed(4); } }]
        .concat(node.dataset.names.split("|").map(series))
    }, values(node), place);
  }

  var choice = document.getElementById("trial");
  function step(by) {
    choice.selectedIndex = (choice.selectedIndex + by + labels.length) % labels.length;
    show(choice.value);
  }
  document.querySelector(".viewer").hidden = false;
  choice.addEventListener("change", function () { show(choice.value); });
  document.getElementById("before").addEventListener("click", function () { step(-1); });
  document.getElementById("after").addEventListener("click", function () { step(1); });
  window.addEventListener("resize", function () {
    if (plot) { plot.setSize({ width: document.getElementById("plot").clientWidth, height: 380 }); }
  });
  show(choice.value);
}());
