// Zoom by drag and by keys for the charts of the explorer. ui/charts/zoom.py marks these charts.
//
// Vega-Lite zooms a chart about a point when the wheel turns with Shift (x) or Alt (y) held, and
// resets it on a double click. A drag from a to b of a plot from 0 to w is such a zoom about the
// point a / (1 - f) by the factor f = (b - a) / w, so this file makes wheel events out of drags and
// keys, and knows nothing of scales. It is loaded once; pages come and go below it.
// At its end is what follows the browser's theme.
(() => {
  if (window.rcpZoom) return;
  window.rcpZoom = true;

  const CHART = '[data-testid="stVegaLiteChart"]';
  const TOGETHER = '.st-key-place-together'; // charts that share their time axis
  const LANES = '.st-key-place-lanes';
  const DRAG_MIN = 6; // pixels: a hand that clicks moves less
  const PER_KEY = 0.5; // how much of the axis is left after the key +
  const HAIR = 1 + 1e-9; // more than rounding takes: the key - brings a label at the edge back
  const PAN_PER_KEY = 0.25; // of the size of the plot
  const AXES = { 'col-resize': 'x', 'row-resize': 'y', crosshair: 'xy' };

  // The plot of a chart that can be zoomed, with its axes, or null.
  const plotOf = (target) => {
    const svg = target instanceof Element && target.closest(CHART)?.querySelector('svg.marks');
    const frame = svg && svg.querySelector('.role-frame path.background');
    const axes = frame && AXES[frame.__data__?.cursor]; // Vega keeps its items there
    return axes ? { svg, frame, axes, box: frame.getBoundingClientRect() } : null;
  };

  // Zoom an axis by a factor about a point (pixels of the page).
  const wheel = (plot, x, y, axis, factor) =>
    plot.frame.dispatchEvent(
      new WheelEvent('wheel', {
        bubbles: true,
        cancelable: true,
        clientX: x,
        clientY: y,
        deltaY: Math.log(factor) / Math.log(1.001), // as Vega-Lite turns it into a factor
        shiftKey: axis === 'x',
        altKey: axis === 'y',
      })
    );

  // Zoom so that from..to (pixels of the page) fills an axis.
  const zoomTo = (plot, axis, from, to) => {
    const { box } = plot;
    const [start, size] = axis === 'x' ? [box.left, box.width] : [box.top, box.height];
    const factor = Math.min((to - from) / size, 0.999);
    const about = start + (from - start) / (1 - factor);
    if (axis === 'x') wheel(plot, about, box.top + 1, 'x', factor);
    else wheel(plot, box.left + 1, about, 'y', factor);
  };

  // The plots that a change of a plot's time axis concerns.
  const together = (plot) => {
    const place = plot.svg.closest(TOGETHER);
    const charts = place ? [...place.querySelectorAll(CHART)] : [plot.svg];
    return charts.map((chart) => plotOf(chart)).filter(Boolean);
  };

  const reset = (plot) =>
    together(plot).forEach(({ frame }) =>
      frame.dispatchEvent(new MouseEvent('dblclick', { bubbles: true, cancelable: true }))
    );

  // ---- drag -----------------------------------------------------------------------------------

  let drag = null;
  const band = document.createElement('div');
  band.className = 'rcp-drag';
  band.setAttribute('aria-hidden', 'true');

  const within = (value, low, high) => Math.min(Math.max(value, low), high);

  const dragged = (event) => {
    const { box, axes } = drag.plot;
    const at = {
      x: within(event.clientX, box.left, box.right),
      y: within(event.clientY, box.top, box.bottom),
    };
    const wide = Math.abs(at.x - drag.x) >= DRAG_MIN && axes.includes('x');
    const high = Math.abs(at.y - drag.y) >= DRAG_MIN && axes.includes('y');
    // Of a drag that is much longer one way, only that way is meant.
    const flat = Math.abs(at.y - drag.y) * 4 < Math.abs(at.x - drag.x);
    const steep = Math.abs(at.x - drag.x) * 4 < Math.abs(at.y - drag.y);
    return {
      x: wide && !(high && steep) ? [Math.min(at.x, drag.x), Math.max(at.x, drag.x)] : null,
      y: high && !(wide && flat) ? [Math.min(at.y, drag.y), Math.max(at.y, drag.y)] : null,
    };
  };

  document.addEventListener('mousedown', (event) => {
    if (event.button !== 0 || event.shiftKey) return; // Shift moves the plot
    const plot = plotOf(event.target);
    if (!plot) return;
    const { box } = plot;
    const { clientX: x, clientY: y } = event;
    if (x < box.left || x > box.right || y < box.top || y > box.bottom) return;
    drag = { plot, x, y };
    event.preventDefault(); // selects no text; would also keep the focus from the chart
    plot.svg.focus({ preventScroll: true });
  });

  document.addEventListener('mousemove', (event) => {
    if (!drag) return;
    const { x, y } = dragged(event);
    if (!x && !y) return band.remove();
    const { box } = drag.plot;
    const [left, right] = x || [box.left, box.right];
    const [top, bottom] = y || [box.top, box.bottom];
    Object.assign(band.style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${right - left}px`,
      height: `${bottom - top}px`,
    });
    document.body.append(band);
  });

  document.addEventListener('mouseup', (event) => {
    if (!drag) return;
    const { x, y } = dragged(event);
    const { plot } = drag;
    drag = null;
    band.remove();
    if (!x && !y) return;
    if (x) together(plot).forEach((one) => zoomTo(one, 'x', ...x));
    if (y) zoomTo(plot, 'y', ...y);
    // The click that ends a drag picks nothing.
    const swallow = (click) => click.stopPropagation();
    window.addEventListener('click', swallow, { capture: true, once: true });
    setTimeout(() => window.removeEventListener('click', swallow, { capture: true }));
  });

  document.addEventListener('dblclick', (event) => {
    const plot = event.isTrusted && plotOf(event.target);
    if (plot && plot.svg.closest(TOGETHER)) reset(plot);
  });

  // ---- keys -----------------------------------------------------------------------------------

  // Move what a plot shows by so many pixels: out about one point and back in about another.
  // A mouse event's place is a whole number of pixels, so the way there and back must be too.
  const pan = (plot, axis, way) => {
    const { box } = plot;
    const by = Math.trunc(way);
    const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    wheel(plot, x + (axis === 'x' && by), y + (axis === 'y' && by), axis, 2);
    wheel(plot, x, y, axis, 0.5);
  };

  const zoomBy = (plot, factor, mark) => {
    const of = mark ? mark.getBoundingClientRect() : plot.box;
    const x = within((of.left + of.right) / 2, plot.box.left, plot.box.right);
    const y = (plot.box.top + plot.box.bottom) / 2;
    together(plot).forEach((one) => one.axes.includes('x') && wheel(one, x, y, 'x', factor));
    if (plot.axes.includes('y')) wheel(plot, x, y, 'y', factor);
  };

  const segments = (svg) =>
    [...svg.querySelectorAll('.mark-rect [role="graphics-symbol"]')]
      .map((mark) => ({ mark, box: mark.getBoundingClientRect() }))
      .sort((a, b) => a.box.left - b.box.left || a.box.top - b.box.top);

  // The segment by which the one that has the focus is followed (1) or preceded (-1).
  const besides = (all, current, step) => {
    const at = all.findIndex(({ mark }) => mark === current);
    return at < 0 ? all[0] : all[at + step];
  };

  const show = (plot, { mark, box }) => {
    const { left, right } = plot.box;
    if (box.right < left || box.left > right) {
      pan(plot, 'x', (left + right) / 2 - (box.left + box.right) / 2);
    }
    requestAnimationFrame(() => {
      mark.setAttribute('tabindex', '-1');
      mark.focus({ preventScroll: false });
      // Vega's tooltip, as if the mouse were here.
      const now = mark.getBoundingClientRect();
      const at = {
        bubbles: true,
        clientX: within((now.left + now.right) / 2, left, right),
        clientY: (now.top + now.bottom) / 2,
      };
      for (const name of ['pointerover', 'pointermove', 'mouseover', 'mousemove']) {
        const Kind = name.startsWith('pointer') ? PointerEvent : MouseEvent;
        mark.dispatchEvent(new Kind(name, at));
      }
    });
  };

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const plot = plotOf(event.target);
    if (!plot) return;
    const mark = event.target.closest('[role="graphics-symbol"]');
    const upright = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const sideways = { ArrowLeft: PAN_PER_KEY, ArrowRight: -PAN_PER_KEY }[event.key];
    if (event.key === '+' || event.key === '=') zoomBy(plot, PER_KEY, mark);
    else if (event.key === '-') zoomBy(plot, HAIR / PER_KEY, mark);
    else if (event.key === 'Escape' || event.key === '0') reset(plot);
    else if (upright && plot.svg.closest(LANES)) {
      const next = besides(segments(plot.svg), mark, upright);
      if (next) show(plot, next);
    } else if (sideways && plot.axes.includes('x')) {
      together(plot).forEach((one) => pan(one, 'x', sideways * one.box.width));
    } else if (upright && plot.axes.includes('y')) {
      pan(plot, 'y', -upright * PAN_PER_KEY * plot.box.height);
    } else return;
    event.preventDefault();
  });

  // ---- focus ----------------------------------------------------------------------------------

  const adopt = () =>
    document.querySelectorAll(`${CHART} svg.marks:not([tabindex])`).forEach((svg) => {
      if (!plotOf(svg)) return;
      svg.setAttribute('tabindex', '0');
      svg.setAttribute('aria-keyshortcuts', '+ - ArrowLeft ArrowRight ArrowUp ArrowDown Escape');
    });
  let waits = false;
  new MutationObserver(() => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      adopt();
    });
  }).observe(document.body, { childList: true, subtree: true });
  adopt();
})();

// Loads the page anew when the browser's theme changes: the explorer learns the theme once per run,
// and a change of theme starts no run. The address holds everything that was chosen.
(() => {
  if (window.rcpTheme) return;
  window.rcpTheme = true;

  const KEY = 'rcp-loaded-for'; // the theme for which the page was loaded anew
  const SETTLED_MS = 300; // streamlit changes its elements one after the other

  // The theme that the last run was told, see ui/style.py.
  const told = () =>
    getComputedStyle(document.documentElement).getPropertyValue('--rcp-theme').trim();

  const shown = () => {
    const app = document.querySelector('[data-testid="stApp"]');
    const [red, green, blue] = (app && getComputedStyle(app).backgroundColor.match(/\d+/g)) || [];
    if (blue === undefined) return '';
    return Number(red) + Number(green) + Number(blue) < 3 * 128 ? 'dark' : 'light';
  };

  const isWriting = () => ['INPUT', 'TEXTAREA'].includes(document.activeElement?.tagName);

  const check = () => {
    const [run, now] = [told(), shown()];
    if (!run || !now) return;
    if (run === now) return sessionStorage.removeItem(KEY);
    // What is being written is not in the address yet: focusout comes here again.
    if (isWriting() || sessionStorage.getItem(KEY) === now) return;
    sessionStorage.setItem(KEY, now); // once per change, or pages would be loaded for ever
    location.reload();
  };

  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(check, SETTLED_MS);
  };
  const watched = { attributes: true, attributeFilter: ['class'], subtree: true };
  new MutationObserver(later).observe(document.body, watched);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', later);
  document.addEventListener('focusout', later);
})();
