/** Runs on every page of the dashboard. All pages work without it. */

/** The browser's storage. If it refuses access, the values are kept as long as the page is open. */
const storage = (
  name: 'localStorage' | 'sessionStorage',
): Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'clear'> => {
  try {
    return window[name];
  } catch {
    const kept = new Map<string, string>();
    return {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => void kept.set(key, value),
      removeItem: (key) => void kept.delete(key),
      clear: () => kept.clear(),
    };
  }
};
const [local, session] = [storage('localStorage'), storage('sessionStorage')];
const parsed = <Stored>(text: string | null): Stored | undefined => {
  try {
    return (JSON.parse(text ?? 'null') as Stored | null) ?? undefined;
  } catch {
    return undefined;
  }
};

/** The page with the form stays open, because the button only shows something in a new tab. */
const opensTab = ({ submitter }: SubmitEvent) => submitter?.hasAttribute('formtarget') === true;

// Sends each form only once. Otherwise the browser would show the second response. After going back, the form can be sent again.
document.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement;
  if (form.method !== 'post' || event.defaultPrevented || opensTab(event)) return;
  if (form.dataset.sent !== undefined) event.preventDefault();
  form.dataset.sent = '';
});
window.addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll<HTMLFormElement>('form[data-sent]')) delete form.dataset.sent;
});

// If polling fails, warns that the page may be out of date.
const away = document.querySelector<HTMLElement>('#away');
const showWarning = (isAway: boolean) => {
  if (away) away.hidden = !isAway;
};
for (const name of ['htmx:sendError', 'htmx:responseError', 'htmx:timeout'])
  document.addEventListener(name, () => showWarning(true));
document.addEventListener('htmx:afterRequest', (event) => {
  if ((event as CustomEvent<{ successful?: boolean }>).detail.successful) showWarning(false);
});

// Keeps what the user types while part of the page reloads: the response only contains what was sent before.
let typing: { name: string; value: string } | undefined;
document.addEventListener('htmx:beforeSwap', () => {
  const { activeElement: field } = document;
  typing =
    field instanceof HTMLInputElement && field.name ? { name: field.name, value: field.value } : undefined;
});
document.addEventListener('htmx:afterSettle', () => {
  const { activeElement: field } = document;
  if (field instanceof HTMLInputElement && typing && field.name === typing.name) field.value = typing.value;
  typing = undefined;
});

// Headings can only stay in view if their table does not scroll sideways.
const addStickyHeadings = () => {
  for (const table of document.querySelectorAll('.table'))
    table.classList.toggle('fits', table.scrollWidth <= table.clientWidth);
};
addStickyHeadings();
addEventListener('resize', addStickyHeadings);
document.addEventListener('htmx:afterSettle', addStickyHeadings);

// Ticks stay while the user turns the pages of one search. They are sent in the address, which has room for this many.
const MOST_TICKED = 150;
const searched = (url: string) => {
  const { pathname, searchParams } = new URL(url, location.href);
  for (const name of ['cursor', 'sort', 'done', 'undo']) searchParams.delete(name);
  return `${pathname}?${searchParams.toString()}`;
};
const TICKED = 'ticked';
const readTicks = (): Set<string> => {
  const stored = parsed<{ search?: string; ids?: string[] }>(session.getItem(TICKED));
  return new Set(stored?.search === searched(location.href) ? stored.ids : []);
};
// Links from elsewhere lead to a list without ticks.
const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
const isFromList = document.referrer !== '' && searched(document.referrer) === searched(location.href);
if (navigation?.type === 'navigate' && !isFromList) session.removeItem(TICKED);

// Lets users select every record of the page, and shows how many are selected elsewhere. Searching replaces the list.
const addTicks = () => {
  for (const bar of document.querySelectorAll<HTMLElement>('[data-page]')) {
    const { page, elsewhere } = bar.dataset;
    delete bar.dataset.page;
    const form = bar.closest('form')!;
    const boxes = [...form.querySelectorAll<HTMLInputElement>('tbody input[type=checkbox]')];
    const [{ name }] = boxes as [HTMLInputElement];
    const label = document.createElement('label');
    label.className = 'tick';
    const whole = document.createElement('input');
    whole.type = 'checkbox';
    label.append(whole, page!);
    const others = document.createElement('span');
    others.role = 'status';
    bar.prepend(label);
    bar.append(others);

    const show = () => {
      const ticked = readTicks();
      for (const box of boxes) {
        box.checked = ticked.has(box.value);
        box.disabled = !box.checked && ticked.size >= MOST_TICKED;
      }
      const here = boxes.filter(({ checked }) => checked).length;
      whole.checked = here === boxes.length;
      others.textContent = ticked.size > here ? elsewhere!.replace('{n}', `${ticked.size - here}`) : '';
      form.toggleAttribute('data-ticked', ticked.size > 0);
    };
    const tick = (changed: readonly HTMLInputElement[]) => {
      const ticked = readTicks();
      for (const { checked, value } of changed) {
        if (!checked) ticked.delete(value);
        else if (ticked.size < MOST_TICKED) ticked.add(value);
      }
      session.setItem(TICKED, JSON.stringify({ search: searched(location.href), ids: [...ticked] }));
      show();
    };
    for (const box of boxes) box.addEventListener('change', () => tick([box]));
    whole.addEventListener('change', () => {
      for (const box of boxes) box.checked = whole.checked;
      tick(boxes);
    });
    form.addEventListener('formdata', ({ formData }) => {
      formData.delete(name);
      for (const id of readTicks()) formData.append(name, id);
    });
    // Going back may show a page as it was left.
    window.addEventListener('pageshow', show);
    // Of a page that was reloaded.
    tick(boxes.filter(({ checked }) => checked));
  }
};
addTicks();
document.addEventListener('htmx:afterSettle', addTicks);

// Menus close as people expect it.
const closeMenus = (isOutside: (menu: HTMLElement) => boolean) => {
  for (const menu of document.querySelectorAll<HTMLDetailsElement>('.more[open]'))
    if (isOutside(menu)) menu.open = false;
};
document.addEventListener('click', ({ target }) => closeMenus((menu) => !menu.contains(target as Node)));
document.addEventListener('keydown', (event) => {
  const { key, target } = event;
  if (key === 'Escape') {
    const menu = (target as HTMLElement).closest('.more');
    closeMenus(() => true);
    menu?.querySelector('summary')?.focus();
  }
  // Moves to the search, unless the user is typing.
  if (key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  const { isContentEditable } = target as HTMLElement;
  if (isContentEditable || (target as HTMLElement).matches('input, select, textarea')) return;
  event.preventDefault();
  document.querySelector<HTMLInputElement>('input[type=search]')?.focus();
});

for (const field of document.querySelectorAll<HTMLElement>('[data-copy]')) {
  const { copy, copied } = field.dataset;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button plain';
  button.textContent = copy!;
  button.addEventListener('click', () => {
    const { value } = field.querySelector<HTMLInputElement>('[readonly]')!;
    navigator.clipboard.writeText(value).then(
      () => (button.textContent = copied!),
      () => undefined,
    );
  });
  // Pages served over plain HTTP have no clipboard.
  if (navigator.clipboard as Clipboard | undefined) field.append(button);
}

// Buttons above a message that insert the snippets of a list where the cursor is. Headings, pictures and lines are paragraphs.
for (const list of document.querySelectorAll<HTMLElement>('[data-inserts]')) {
  const field = list.closest('form')!.elements.namedItem(list.dataset.inserts!) as HTMLTextAreaElement;
  const bar = document.createElement('ul');
  bar.className = 'inserts';
  bar.ariaLabel = list.querySelector('summary')!.textContent;
  for (const snippet of list.querySelectorAll<HTMLElement>('[data-insert]')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = snippet.dataset.insert!;
    button.addEventListener('click', () => {
      const text = snippet.textContent;
      // The editor inserts it itself.
      if (!field.dispatchEvent(new CustomEvent('insert', { detail: text, cancelable: true }))) return;
      const { selectionStart: start, selectionEnd: end, value } = field;
      const isParagraph = /^(###|!|---)/.test(text);
      const apart = (around: string) => (isParagraph && around.trim() !== '' ? '\n\n' : '');
      const before = apart(value.slice(0, start));
      field.setRangeText(before + text + apart(value.slice(end)), start, end, 'end');
      field.dispatchEvent(new Event('input', { bubbles: true }));
      field.focus();
    });
    const item = document.createElement('li');
    item.append(button);
    bar.append(item);
  }
  field.before(bar);
  list.hidden = true;
}

// What is typed into a writing form is saved as a draft, until the form is saved. The browser keeps what the server does not have yet:
// while someone types, if the server cannot be reached, and if the session has ended.
type Draft = { since: string | null; fields: [name: string, value: string][]; at?: number };
const SENT_DRAFT = 'sentDraft';
const NOT_DRAFTED = ['once', 'sure', 'since'];
/** Pauses after the last key, and after a failure. */
const [DRAFT_MS, RETRY_MS] = [3_000, 30_000];
const fieldsIn = (form: HTMLFormElement): Draft['fields'] =>
  [...new FormData(form)].filter((entry): entry is [string, string] => typeof entry[1] === 'string');
const draftFields = (form: HTMLFormElement) => fieldsIn(form).filter(([name]) => !NOT_DRAFTED.includes(name));
// The record's version when its form was shown, so that saving an old draft of a changed record asks first.
const sinceIn = (form: HTMLFormElement) => form.elements.namedItem('since') as HTMLInputElement | null;

const fillIn = (form: HTMLFormElement, { since, fields }: Draft) => {
  const typed = new URLSearchParams(fields);
  for (const field of form.elements) {
    const input = field as HTMLInputElement;
    if (input.name === '' || NOT_DRAFTED.includes(input.name)) continue;
    if (['checkbox', 'radio'].includes(input.type))
      input.checked = typed.getAll(input.name).includes(input.value);
    else if (field.matches('input, select, textarea') && typed.has(input.name))
      input.value = typed.get(input.name)!;
    if (input.checked) input.closest('details')?.setAttribute('open', '');
  }
  for (const picker of form.querySelectorAll<HTMLElement>('[data-picker]'))
    picker.dataset.typed = typed.toString();
  if (since !== null) sinceIn(form)?.setAttribute('value', since);
};

// With the query, which can name a broadcast to duplicate.
const here = location.pathname + location.search;
const sentDraft = session.getItem(SENT_DRAFT);
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-draft]')) {
  const { draft, saved, unsaved } = form.dataset;
  const key = `draft ${draft!} ${here}`;
  const notice = document.querySelector<HTMLFormElement>('[data-restored]')!;
  const state = form.querySelector<HTMLElement>('[data-draft-state]')!;
  const kept = parsed<Draft>(local.getItem(key));
  let changes = 0;
  let savedChanges = 0;
  let isLeft = false;
  let timer: number | undefined;
  let request = new AbortController();

  // Screen readers hear each message once. Later only its time changes.
  const showState = (text: string, isNews: boolean) => {
    state.ariaLive = isNews ? 'polite' : 'off';
    state.textContent = text;
  };
  const saveDraft = async (isLeaving = false) => {
    clearTimeout(timer);
    if (isLeft || changes === savedChanges) return;
    request.abort();
    request = new AbortController();
    const these = changes;
    const body = new URLSearchParams(fieldsIn(form));
    body.set('draft', 'save');
    try {
      const answer = await fetch(location.href, {
        method: 'POST',
        body,
        signal: request.signal,
        keepalive: isLeaving,
      });
      if (answer.status !== 204) throw new Error(answer.statusText);
      savedChanges = these;
      if (these === changes) local.removeItem(key);
      const time = new Date().toLocaleTimeString(document.documentElement.lang, {
        ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
      });
      showState(saved!.replace('{time}', time), state.dataset.draftState !== 'saved');
      state.dataset.draftState = 'saved';
    } catch (error) {
      if ((error as Error).name === 'AbortError') return;
      showState(unsaved!, state.dataset.draftState !== 'unsaved');
      state.dataset.draftState = 'unsaved';
      timer = setTimeout(() => void saveDraft(), RETRY_MS);
    }
  };
  const keep = () => {
    const newest: Draft = { since: sinceIn(form)?.value ?? null, fields: draftFields(form), at: Date.now() };
    changes += 1;
    try {
      local.setItem(key, JSON.stringify(newest));
    } catch {
      // The browser's storage is full.
    }
    clearTimeout(timer);
    timer = setTimeout(() => void saveDraft(), DRAFT_MS);
  };

  // Someone may have continued it in another browser since.
  const isOlder = Date.parse(notice.dataset.restored ?? '') > (kept?.at ?? 0);
  // A form that was rejected already contains what was typed.
  if (sentDraft === key) session.removeItem(SENT_DRAFT);
  else if (isOlder) local.removeItem(key);
  else if (Array.isArray(kept?.fields) && JSON.stringify(kept.fields) !== JSON.stringify(draftFields(form))) {
    fillIn(form, kept);
    notice.hidden = false;
    keep();
  }
  notice.addEventListener('submit', () => {
    isLeft = true;
    local.removeItem(key);
  });
  form.addEventListener('input', keep);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') void saveDraft(true);
  });
  form.addEventListener('submit', (event) => {
    if (opensTab(event)) return;
    session.setItem(SENT_DRAFT, key);
    // Otherwise the draft could arrive after the form that it is a draft of.
    isLeft = true;
    clearTimeout(timer);
    request.abort();
  });
  window.addEventListener('pageshow', () => (isLeft = false));
}

// Previews and counts follow the form while someone types, as if they kept pressing the button of that name.
const LIVE_MS = 800;
const isWide = matchMedia('(min-width:75rem)');
for (const panel of document.querySelectorAll<HTMLElement>('[data-live]')) {
  const name = panel.dataset.live!;
  const watched = panel.closest<HTMLElement>('[data-watched]')!;
  const form = watched.closest('form') ?? watched.querySelector<HTMLFormElement>('form[data-draft]')!;
  const button = document.querySelector<HTMLElement>(`button[name=${name}]`);
  // A preview needs room next to its form, and keeps its button for other windows.
  const section = panel.closest<HTMLElement>('.live');
  if (!section) button?.remove();
  let timer: number | undefined;
  let request = new AbortController();
  const show = async () => {
    request.abort();
    request = new AbortController();
    const fields = new URLSearchParams(fieldsIn(form));
    fields.set(name, 'true');
    const answer = await fetch(location.href, { method: 'POST', body: fields, signal: request.signal });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const parts = page.querySelector(section ? '#preview .preview' : `[data-live=${name}]`);
    // Without it, the last one stays: the session has ended, or the server rejects more requests.
    if (!parts) return;
    // Otherwise a click would leave the form.
    for (const link of parts.querySelectorAll('a')) link.target = '_blank';
    if (section) {
      panel.replaceChildren(parts);
      section.hidden = false;
    } else panel.replaceChildren(...parts.childNodes);
  };
  const showSoon = () => {
    clearTimeout(timer);
    if (!section || isWide.matches) timer = setTimeout(() => void show().catch(() => undefined), LIVE_MS);
  };
  for (const event of ['input', 'change']) watched.addEventListener(event, showSoon);
  isWide.addEventListener('change', showSoon);
  showSoon();
}

// Only a success redirects to another page of the organization. After an error, the person may have gone there without saving.
const sentFrom = sentDraft?.split(' ').at(-1);
if (sentFrom !== undefined && sentFrom !== here) {
  const organization = sentFrom.split('/').slice(0, 3).join('/');
  const isSaved = navigation!.redirectCount > 0 && location.pathname.startsWith(organization);
  if (isSaved) local.removeItem(sentDraft!);
  session.removeItem(SENT_DRAFT);
}
document.querySelector('form[action="/dashboard/sign-out"]')?.addEventListener('submit', () => local.clear());

declare const Idiomorph:
  | { defaults: { callbacks: { beforeAttributeUpdated: (name: string, element: Element) => boolean } } }
  | undefined;

// Keeps open `details` elements open when polling updates the page.
if (typeof Idiomorph !== 'undefined')
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, element) =>
    !(name === 'open' && element instanceof HTMLDetailsElement);

export {};
