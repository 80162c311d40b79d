(() => {
  "use strict";
  const GOALS = { found: "people found", both: "both mistakes", yes: "yeses", wrong: "wrong yeses" };
  const AIMS = {
    found: "to find equal shares of every group", both: "to be wrong equally often in every group",
    yes: "to say yes equally often to every group", wrong: "to say yes wrongly equally often in every group",
  };
  const RATES = { found: "Gap in people found", wrong: "Gap in wrong yeses", yes: "Gap in yeses" };
  const SIZES = { found: "n_found", wrong: "n_wrong", yes: "n_yes" };
  const FEW_GROUPS = 3; // have dots; more have bars
  const WIDE = 200; // tenths of a person of a hundred: an interval that wide tells next to nothing

  /* Whatever is data is set as text or as an attribute, never as markup. */
  const make = (tag, look = {}, ...children) => {
    const element = tag.startsWith("svg:")
      ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
    for (const [name, value] of Object.entries(look)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const whole = (share) => (Number.isFinite(share) ? String(Math.round(100 * share)) : "–");
  const tenth = (share) => (Number.isFinite(share) ? (100 * share).toFixed(1) : "–");
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const listed = (texts) => [texts.slice(0, -1).join(", "), texts.at(-1)].filter(Boolean).join(" and ");

  const explorer = (root) => {
    const data = JSON.parse(root.querySelector("script").textContent);
    for (const model of data.models)
      for (const side of ["found", "wrong"]) // each number is packed as its difference to the one before
        model[side] = model[side].map((steps) => { let at = 0; return steps.map((step) => (at += step)); });
    const { groups, models, stops, z } = data;
    const few = groups.length <= FEW_GROUPS;
    const enough = (rate, g) => groups[g][SIZES[rate]] >= Math.max(data.least, 1);
    const told = groups.map((_, g) => g).filter((g) => enough("found", g));

    const at = (model, stop) => {
      const rates = groups.map((group, g) => {
        const found = model.found[g][stop], wrong = model.wrong[g][stop];
        return { found: found / group.right, wrong: wrong / group.other, yes: (found + wrong) / (group.right + group.other) };
      });
      const count = (side) => sum(groups.map((_, g) => model[side][g][stop]));
      const right = sum(groups.map((group) => group.right)), other = sum(groups.map((group) => group.other));
      return {
        rates,
        right: (count("found") + other - count("wrong")) / (right + other),
        yes: (count("found") + count("wrong")) / (right + other),
      };
    };
    const gap = (model, stop, rate) => {
      const limits = model.gaps[rate][stop];
      if (!limits) return "too few people to compare";
      const shares = at(model, stop).rates.map((rates) => rates[rate]).filter((_, g) => enough(rate, g));
      const [low, high] = limits.map((limit) => (limit / 10).toFixed(1));
      const unknown = limits[0] > 0 ? "; how large, so few people do not tell" : "; too few people to tell";
      const doubt = limits[1] - limits[0] > WIDE ? unknown : limits[0] <= 0 ? "; may be chance" : "";
      return `${tenth(Math.max(...shares) - Math.min(...shares))} of 100 (${low} to ${high}${doubt})`;
    };
    const wilson = (share, n) => {
      const shrink = 1 / (1 + z * z / n), centre = (share + 0.5 * z * z / n) * shrink;
      const half = z * shrink * Math.sqrt(share * (1 - share) / n + (0.5 * z / n) ** 2);
      return [Math.max(Math.min(centre - half, share), 0), Math.min(Math.max(centre + half, share), 1)];
    };

    /* One model beside another: those with a goal beside those without. */
    const all = models.map((_, m) => m), order = Object.keys(GOALS);
    const fair = all.filter((m) => models[m].goal).sort((a, b) => order.indexOf(models[a].goal) - order.indexOf(models[b].goal));
    const rights = fair.length ? fair : all.slice(models.length > 1 ? 1 : 0);
    const lefts = all.filter((m) => !rights.includes(m));
    const state = { stop: data.start, right: models.length - 1, left: lefts.length ? lefts[0] : -1 };
    const pair = () => [state.left, state.right].filter((m) => m >= 0);

    const say = () => {
      const yeses = Math.round(stops[state.stop]), [first, second] = pair().map((m) => models[m]);
      const finds = (model, named) => {
        const rates = at(model, state.stop).rates, shares = told.map((g) => rates[g].found);
        if (!told.length) return "too few people of any group to say";
        if (told.length <= FEW_GROUPS)
          return listed(told.map((g, i) => whole(shares[i]) + (named ? ` ${groups[g].name}` : "")));
        const end = (value) => `${whole(value)} (${groups[told[shares.indexOf(value)]].name})`;
        return `between ${end(Math.min(...shares))} and ${end(Math.max(...shares))}`;
      };
      const right = (model) => tenth(at(model, state.stop).right);
      const start = `With ${yeses} ${yeses === 1 ? "yes" : "yeses"} per 100 people, ${first.name} finds ${finds(first, true)} of 100 ${data.who}.`;
      if (!second) return `${start} ${right(first)} of 100 answers are right.`;
      const price = right(first) === right(second) ? `as many answers are right (${right(first)} of 100)`
        : `${right(second)} of 100 answers are right instead of ${right(first)}`;
      return `${start} ${second.name} finds ${finds(second, false)}, and ${price}.`;
    };

    /* The same people by what each model chose by itself, which need not be as many yeses. */
    const alone = () => {
      const shown = pair().filter((m) => models[m].own !== null);
      if (shown.length < 2 || !told.length || told.length > FEW_GROUPS) return "";
      const each = shown.map((m, i) => {
        const { rates, right, yes } = at(models[m], models[m].own);
        const found = listed(told.map((g) => whole(rates[g].found) + (i ? "" : ` ${groups[g].name}`)));
        return `${models[m].name} gives ${whole(yes)} of 100 a yes, finds ${found}, and ${tenth(right)} of 100 answers are right`;
      });
      return `By their own choices: ${each.join("; ")}.`;
    };

    /* What never changes: built once. */
    const part = (name) => root.querySelector(`[data-part=${name}]`);
    const slider = make("input", { type: "range", min: 0, max: stops.length - 1, step: 1, id: `${root.id}-yeses` });
    const output = make("output", { for: slider.id });
    const marks = make("div", { class: "pb-marks" });
    const points = [
      ...all.filter((m) => models[m].own !== null).map((m) => ({ stop: models[m].own, model: m, label: `${models[m].name}’s choice`, own: true })),
      ...data.alternatives,
    ];
    const offered = () => points.filter((point) => !point.own || pair().includes(point.model));
    for (const point of points) {
      const button = make("button", { type: "button" }, point.label), tick = make("i", { "aria-hidden": "true" });
      button.addEventListener("click", () => {
        state.stop = point.stop;
        if (rights.includes(point.model)) state.right = point.model;
        else state.left = point.model;
        draw(); keep();
      });
      Object.assign(point, { button, tick });
      marks.append(tick, button);
    }
    part("models").classList.toggle("pb-narrow", groups.length < FEW_GROUPS || !few);
    part("knob").append(make("label", { for: slider.id }, "How many of 100 people get a yes?"), output, slider);
    part("knob").after(marks);
    const pills = (title, options, side, label) => {
      if (options.length < 2) return;
      const set = make("fieldset", {}, make("legend", {}, title));
      for (const m of options) {
        const radio = make("input", { type: "radio", name: `${root.id}-${side}`, value: m });
        radio.addEventListener("change", () => { state[side] = m; draw(); keep(); });
        set.append(make("label", {}, radio, make("span", {}, label(m))));
      }
      part("pills").append(set);
    };
    const goals = fair.map((m) => models[m].goal), distinct = new Set(goals).size === goals.length;
    const named = (m) => models[m].name;
    pills(fair.length && distinct ? "Make equal:" : "Model:", rights, "right", (m) => (fair.length && distinct ? GOALS[models[m].goal] : named(m)));
    if (fair.length === 1) part("pills").append(make("p", { class: "pb-quiet" }, `${named(fair[0])} was trained ${AIMS[models[fair[0]].goal]}.`));
    pills("Beside:", lefts, "left", named);

    const dots = (share, kind) => {
      const picture = make("svg:svg", { viewBox: "0 0 100 100", class: kind, "aria-hidden": "true" });
      const on = Math.round(100 * share);
      for (let i = 0; i < 100; i += 1)
        picture.append(make("svg:circle", { cx: 5 + 10 * (i % 10), cy: 5 + 10 * Math.floor(i / 10), r: 4.1, ...(i < on ? { class: "on" } : {}) }));
      return picture;
    };
    const bar = (share, n, kind) => {
      const picture = make("svg:svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: `pb-bar ${kind}`, "aria-hidden": "true" });
      if (!Number.isFinite(share)) return picture;
      picture.append(make("svg:rect", { x: 0, y: 0, width: 100 * share, height: 10, class: "on" }));
      if (!Number.isFinite(n)) return picture; // of a key
      const [low, high] = wilson(share, n).map((limit) => 100 * limit);
      picture.append(make("svg:path", { d: `M${low} 5H${high}M${low} 2V8M${high} 2V8` }));
      return picture;
    };
    const kinds = () => (state.left >= 0 ? ["plain", "fair"] : ["fair"]);
    const lack = (g) => `only ${Math.round(groups[g].n_found)} people ${data.who}: too few to say`;

    const facts = (model, stop) => {
      const { rates, right, yes } = at(model, stop), list = make("dl", {});
      const row = (name, text, main) => list.append(make("dt", {}, name), make("dd", main ? { class: "pb-goal" } : {}, text));
      const equal = model.goal === "both" ? ["found", "wrong"] : [model.goal];
      row(RATES.found, gap(model, stop, "found"), equal.includes("found"));
      row("Right answers", `${tenth(right)} of 100`);
      for (const [rate, title] of [["wrong", "Wrong yeses"], ["yes", "Yeses"]]) {
        const known = groups.map((_, g) => g).filter((g) => enough(rate, g)), shares = known.map((g) => rates[g][rate]);
        if (few) row(title, known.map((g, i) => `${whole(shares[i])} ${groups[g].name}`).join(", ") || "too few people to say");
        else row(title, known.length ? `${whole(Math.min(...shares))} to ${whole(Math.max(...shares))} of 100` : "too few people to say");
        row(RATES[rate], gap(model, stop, rate), equal.includes(rate));
      }
      const off = Math.abs(100 * yes - stops[stop]) > 0.5;
      if (off) row("", `Many people share a score: ${tenth(yes)} of 100 get a yes here.`);
      return list;
    };
    const heading = (m, kind) => make(root.hasAttribute("data-page") ? "h2" : "h3", { class: `pb-name ${kind}` }, models[m].name);
    const key = () => make("p", { class: "pb-key" }, ...pair().flatMap((m, i) => [
      bar(1, Infinity, kinds()[i]), make("span", {}, models[m].name),
    ]));
    const rows = () => {
      const list = make("ul", { class: "pb-rows" });
      groups.forEach((group, g) => {
        const item = make("li", enough("found", g) ? {} : { class: "small" }, make("b", {}, group.name));
        const box = make("div", {});
        pair().forEach((m, i) => {
          const share = at(models[m], state.stop).rates[g].found;
          const [low, high] = wilson(share, group.n_found).map(whole);
          box.append(bar(share, group.n_found, kinds()[i]), make("span", {},
            make("span", { class: "pb-hidden" }, `${models[m].name}: `), make("strong", {}, whole(share)),
            group.right > 0 ? ` (${low} to ${high})` : ""));
        });
        if (!enough("found", g)) box.append(make("em", {}, lack(g)));
        item.append(box);
        list.append(item);
      });
      return list;
    };
    const sides = () => pair().map((m, i) => {
      const kind = kinds()[i], side = make("section", { class: `pb-model ${kind}`, "aria-label": models[m].name }, heading(m, kind));
      if (few) {
        const { rates } = at(models[m], state.stop), box = make("div", { class: "pb-groups" });
        groups.forEach((group, g) => {
          const small = !enough("found", g);
          box.append(make("div", small ? { class: "small" } : {},
            make("p", {}, make("strong", {}, whole(rates[g].found)), ` ${group.name}`), dots(rates[g].found, kind),
            ...(small ? [make("em", {}, lack(g))] : [])));
        });
        side.append(box);
      }
      side.append(facts(models[m], state.stop));
      return side;
    });
    const code = () => pair().map((m) => `${models[m].python.replaceAll("{cut}", String(models[m].cuts[state.stop]))}  # ${models[m].name.replace(/\s+/g, " ")}`).join("\n");

    /* Names of marks stand below their ticks, in as many lines as they need. */
    const place = () => {
      const width = marks.clientWidth, lines = [];
      if (!width) return;
      for (const point of points) point.button.hidden = point.tick.hidden = !offered().includes(point);
      for (const point of offered().sort((a, b) => a.stop - b.stop)) {
        const x = 8 + (point.stop / (stops.length - 1)) * (width - 16), size = Math.min(point.button.offsetWidth, width);
        const left = Math.max(0, Math.min(x - size / 2, width - size));
        let line = lines.findIndex((end) => end + 8 <= left);
        if (line < 0) line = lines.push(0) - 1;
        lines[line] = left + size;
        point.tick.style.left = `${x}px`;
        point.tick.style.height = `${10 + 28 * line}px`;
        point.button.style.left = `${left}px`;
        point.button.style.top = `${6 + 28 * line}px`;
      }
      marks.style.height = `${lines.length ? 8 + 28 * lines.length : 0}px`;
    };
    const draw = () => {
      const yeses = `${Math.round(stops[state.stop])} of 100`;
      const chosen = offered().find((point) => point.stop === state.stop);
      part("say").textContent = say();
      part("alone").textContent = alone();
      slider.value = state.stop;
      slider.setAttribute("aria-valuetext", chosen ? `${yeses}, ${chosen.label}` : yeses);
      output.textContent = yeses;
      for (const radio of part("pills").querySelectorAll("input"))
        radio.checked = Number(radio.value) === state[radio.name.endsWith("right") ? "right" : "left"];
      for (const point of points) point.button.setAttribute("aria-pressed", String(point.stop === state.stop && pair().includes(point.model)));
      part("rows").replaceChildren(...(few ? [] : [make("p", { class: "pb-quiet" }, `How many are found of 100 ${data.who}:`), key(), rows()]));
      part("models").replaceChildren(...sides());
      part("code").textContent = code();
      place();
    };

    /* The state is in the address, by name. */
    const hash = () => {
      const words = new URLSearchParams({ yes: stops[state.stop], model: models[state.right].name });
      if (state.left >= 0) words.set("beside", models[state.left].name);
      return `#${words}`;
    };
    const keep = () => {
      if (!root.hasAttribute("data-page")) return;
      try { history.replaceState(null, "", hash()); } catch { /* a frame without an address */ }
    };
    const recall = () => {
      const words = new URLSearchParams(location.hash.slice(1));
      const yes = Number(words.get("yes"));
      if (words.get("yes") === null || !Number.isFinite(yes)) return;
      const away = stops.map((stop) => Math.abs(stop - yes));
      state.stop = away.indexOf(Math.min(...away));
      for (const [word, side, options] of [["model", "right", rights], ["beside", "left", lefts]]) {
        const m = options.find((option) => models[option].name === words.get(word));
        if (m !== undefined) state[side] = m;
      }
    };

    const tell = (text) => { part("told").textContent = text; };
    const copy = make("button", { type: "button" }, "Copy link");
    copy.addEventListener("click", async () => {
      const link = location.href.split("#")[0] + hash();
      try {
        await navigator.clipboard.writeText(link);
        tell("The link to this setting is copied.");
      } catch { tell(link); }
    });
    const picture = make("button", { type: "button" }, "Save picture");
    picture.addEventListener("click", () => paint().toBlob((blob) => {
      const link = make("a", { href: URL.createObjectURL(blob), download: `explorer-${Math.round(stops[state.stop])}.png` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      tell("The picture is saved.");
    }));
    part("buttons").prepend(...(/^(file|https?):$/.test(location.protocol) ? [copy] : []), picture);

    const paint = () => {
      const canvas = make("canvas", { width: 1, height: 1 }), pen = canvas.getContext("2d"), style = getComputedStyle(root);
      const colour = (name) => style.getPropertyValue(`--pb-${name}`).trim(), W = 1200, edge = 48;
      const font = (size, weight = 400) => { pen.font = `${weight} ${size}px system-ui, sans-serif`; };
      const wrap = (text, room) => text.split(/\s+/).reduce((lines, word) => {
        const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
        return lines.length && pen.measureText(longer).width <= room ? [...lines.slice(0, -1), longer] : [...lines, word];
      }, []);
      const fit = (text, room) => { /* what is too long loses its middle */
        const letters = [...text];
        let kept = letters.length;
        const left = () => (kept === letters.length ? text
          : `${letters.slice(0, Math.ceil(kept / 2)).join("")}…${letters.slice(letters.length - Math.floor(kept / 2)).join("")}`);
        while (kept > 4 && pen.measureText(left()).width > room) kept -= 1;
        return left();
      };
      const work = (really) => { /* once to see how high it gets, once to paint */
        let y = edge;
        const write = (text, x, size, weight, name, room) => {
          font(size, weight); pen.fillStyle = colour(name); pen.textBaseline = "top";
          if (really) pen.fillText(fit(text, room), x, y);
        };
        font(30, 700);
        for (const line of wrap(say(), W - 2 * edge)) { write(line, edge, 30, 700, "ink", W - 2 * edge); y += 40; }
        y += 24;
        const top = y, shown = pair(), width = (W - 2 * edge - (shown.length - 1) * 40) / shown.length;
        let low = y;
        shown.forEach((m, i) => {
          const kind = kinds()[i], x = edge + i * (width + 40), { rates } = at(models[m], state.stop);
          y = top;
          write(models[m].name, x, 22, 700, kind, width); y += 38;
          groups.forEach((group, g) => {
            const share = rates[g].found, paintable = enough("found", g), name = paintable ? kind : "quiet";
            if (few) {
              const cell = width / groups.length, left = x + g * cell, step = Math.min(cell - 20, 240) / 10;
              write(`${whole(share)} ${group.name}`, left, 24, 700, name, cell - 16);
              for (let d = 0; really && d < 100; d += 1) {
                pen.beginPath();
                pen.arc(left + step * (d % 10 + 0.5), y + 40 + step * (Math.floor(d / 10) + 0.5), 0.4 * step, 0, 7);
                pen.fillStyle = pen.strokeStyle = colour(d < Math.round(100 * share) ? name : "off");
                if (d < Math.round(100 * share)) pen.fill(); else pen.stroke();
              }
              if (g === groups.length - 1) y += 60 + 10 * step;
            } else {
              write(group.name, x, 17, 400, paintable ? "ink" : "quiet", width - 70);
              write(whole(share), x + width - 50, 17, 700, name, 50);
              y += 23;
              if (really && Number.isFinite(share)) {
                pen.fillStyle = colour("off"); pen.fillRect(x, y, width, 9);
                pen.fillStyle = colour(name); pen.fillRect(x, y, width * share, 9);
              }
              y += 19;
            }
          });
          for (const row of [...facts(models[m], state.stop).querySelectorAll("dt")].slice(0, 2)) {
            font(19);
            for (const line of wrap(`${row.textContent}: ${row.nextSibling.textContent}`, width)) {
              write(line, x, 19, 400, "ink", width); y += 28;
            }
          }
          low = Math.max(low, y);
        });
        y = low + 20;
        write(`${data.n.toLocaleString("en")} people. Found: of 100 ${data.who}, how many get a yes. Made with parityboost.`, edge, 16, 400, "quiet", W - 2 * edge);
        return y + 30 + edge;
      };
      const height = work(false);
      canvas.width = 2 * W; canvas.height = 2 * height;
      pen.scale(2, 2);
      pen.fillStyle = colour("ground"); pen.fillRect(0, 0, W, height);
      work(true);
      return canvas;
    };

    slider.addEventListener("input", () => { state.stop = Number(slider.value); draw(); });
    slider.addEventListener("change", keep);
    addEventListener("hashchange", () => { recall(); draw(); });
    addEventListener("resize", place);
    root.querySelector("[data-part=live]").hidden = false;
    recall();
    draw();
    if (document.fonts) document.fonts.ready.then(place);
  };
  document.querySelectorAll(".pb-explorer").forEach(explorer);

  /* In a notebook the page is in a frame, which becomes as high as the page. */
  try {
    const frame = window.frameElement;
    if (frame && document.querySelector(".pb-explorer[data-page]"))
      new ResizeObserver(() => { frame.style.height = `${document.documentElement.offsetHeight + 4}px`; }).observe(document.body);
  } catch { /* a frame of another origin */ }
})();
