/** Runs on every page of the dashboard. All pages work without it. */

// Sends each form only once. Otherwise the browser would show the second response. After going back, the form can be sent again.
document.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement;
  if (form.method !== 'post' || event.defaultPrevented) return;
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

// Headings can only stay in view if their table does not scroll sideways.
const addStickyHeadings = () => {
  for (const table of document.querySelectorAll('.table'))
    table.classList.toggle('fits', table.scrollWidth <= table.clientWidth);
};
addStickyHeadings();
addEventListener('resize', addStickyHeadings);
document.addEventListener('htmx:afterSettle', addStickyHeadings);

// Selects every record of the page at once. Searching replaces the list.
const addSelectPage = () => {
  for (const bar of document.querySelectorAll<HTMLElement>('[data-page]')) {
    const label = document.createElement('label');
    label.className = 'tick';
    const box = document.createElement('input');
    box.type = 'checkbox';
    label.append(box, bar.dataset.page!);
    box.addEventListener('change', () => {
      for (const one of bar.closest('form')!.querySelectorAll<HTMLInputElement>('tbody input[type=checkbox]'))
        one.checked = box.checked;
    });
    delete bar.dataset.page;
    bar.prepend(label);
  }
};
addSelectPage();
document.addEventListener('htmx:afterSettle', addSelectPage);

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
  if ((target as HTMLElement).matches('input, select, textarea')) return;
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

declare const Idiomorph:
  | { defaults: { callbacks: { beforeAttributeUpdated: (name: string, element: Element) => boolean } } }
  | undefined;

// Keeps open `details` elements open when polling updates the page.
if (typeof Idiomorph !== 'undefined')
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, element) =>
    !(name === 'open' && element instanceof HTMLDetailsElement);

export {};
