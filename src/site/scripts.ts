/** Optional script of the pages: updates the number of signatures, and adds the button that copies the link. */
export const PAGE_SCRIPT = `'use strict';
(function () {
  var counter = document.querySelector('[data-count]');
  function show(now) {
    counter.querySelector('[data-signatures]').textContent = now.texts.counted;
    counter.querySelector('[data-goal]').textContent = now.texts.aim;
    var bar = counter.querySelector('progress');
    bar.max = now.goal;
    bar.value = Math.min(now.signatures, now.goal);
    bar.setAttribute('aria-label', now.texts.progress);
  }
  function ask() {
    if (document.visibilityState !== 'visible') return;
    fetch(counter.dataset.count + '?lang=' + document.documentElement.lang)
      .then(function (answer) { return answer.ok ? answer.json() : undefined; })
      .then(function (now) { if (now) show(now); })
      .catch(function () {});
  }
  if (counter) setInterval(ask, 10000);
  var copy = document.querySelector('[data-copy]');
  if (copy && navigator.clipboard) {
    var button = document.createElement('button');
    button.type = 'button';
    button.className = 'button plain';
    button.textContent = copy.dataset.copy;
    button.addEventListener('click', function () {
      navigator.clipboard.writeText(copy.querySelector('input').value).then(function () {
        button.textContent = copy.dataset.copied;
      }, function () {});
    });
    copy.appendChild(button);
  }
  var faults = document.getElementById('faults');
  if (faults) faults.focus();
})();
`;

/** Computes the proof of work before the form is sent. If that fails, the form is sent without it. */
export const PROOF_SCRIPT = `'use strict';
(function () {
  var form = document.querySelector('form[data-proof]');
  if (!form || !window.crypto || !crypto.subtle) return;
  var encoder = new TextEncoder();
  function hex(bytes) {
    return Array.from(new Uint8Array(bytes), function (byte) { return byte.toString(16).padStart(2, '0'); }).join('');
  }
  async function solve(task) {
    for (var from = 0; from <= task.maxnumber; from += 200) {
      var found = await Promise.all(Array.from({ length: 200 }, async function (_, n) {
        var hash = await crypto.subtle.digest(task.algorithm, encoder.encode(task.salt + (from + n)));
        return hex(hash) === task.challenge ? from + n : -1;
      }));
      var number = Math.max.apply(null, found);
      if (number >= 0) return number;
    }
  }
  var button = form.querySelector('.button');
  var name = button.textContent;
  // Restores the form if the browser returns to the page from its cache.
  window.addEventListener('pageshow', function () {
    button.disabled = false;
    button.textContent = name;
    form.querySelectorAll('[name=altcha]').forEach(function (input) { input.remove(); });
  });
  form.addEventListener('submit', async function (event) {
    event.preventDefault();
    button.disabled = true;
    button.textContent = form.dataset.working;
    try {
      var late = new AbortController();
      setTimeout(function () { late.abort(); }, 5000);
      var task = await (await fetch(form.dataset.proof, { signal: late.signal })).json();
      var input = document.createElement('input');
      input.type = 'hidden';
      input.name = 'altcha';
      input.value = btoa(JSON.stringify({
        algorithm: task.algorithm, challenge: task.challenge, salt: task.salt, signature: task.signature,
        number: await solve(task)
      }));
      form.appendChild(input);
    } catch (error) { /* The form is sent without a proof. */ }
    form.submit();
  });
})();
`;

/** Reports the height of the frame to the page that embeds it. */
export const FRAME_SCRIPT = `'use strict';
(function () {
  function report() {
    parent.postMessage({ advocacyHeight: document.documentElement.offsetHeight }, '*');
  }
  new ResizeObserver(report).observe(document.body);
  report();
})();
`;

/**
 * For other sites: \`<advocacy-petition src="https://…/petitions/…"></advocacy-petition>\` becomes a frame with the height of its
 * content. The content between the tags, such as a link, is the fallback without scripts.
 */
export const EMBED_SCRIPT = `'use strict';
(function () {
  if (!window.customElements || customElements.get('advocacy-petition')) return;
  var own = new URL(document.currentScript.src).origin;
  customElements.define('advocacy-petition', class extends HTMLElement {
    connectedCallback() {
      var url;
      try { url = new URL(this.getAttribute('src') || '', own); } catch (error) { return; }
      if (url.origin !== own || this.frame) return;
      this.named = this.named || this.getAttribute('title') || this.textContent.trim() || 'Petition';
      var frame = document.createElement('iframe');
      frame.src = own + url.pathname.replace(/\\/+$/, '') + '/embed' + url.search;
      frame.title = this.named;
      frame.loading = 'lazy';
      frame.style.cssText = 'display:block;width:100%;height:40rem;border:0';
      this.frame = frame;
      this.listen = function (event) {
        var height = event.data && event.data.advocacyHeight;
        if (event.origin !== own || event.source !== frame.contentWindow || !(height > 0)) return;
        frame.style.height = Math.min(height, 10000) + 'px';
      };
      addEventListener('message', this.listen);
      this.replaceChildren(frame);
    }
    disconnectedCallback() {
      removeEventListener('message', this.listen);
      this.frame = undefined;
    }
  });
})();
`;

/** The icon of every page. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57d0"/><path d="M7 21.5c4-9 6-9 5.5-2-.3 4 2 4.500 4-.5s3-3 2.700.2c-.2 2.300 2 2.800 5.800-.7" fill="none" stroke="#fff" stroke-width="2.600" stroke-linecap="round" stroke-linejoin="round"/></svg>
`;
