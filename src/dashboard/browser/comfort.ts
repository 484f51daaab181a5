/** What every page of the dashboard runs: who is shown faults hears of them first. All else works without it. */
document.querySelector<HTMLElement>('#faults')?.focus();

// Pressed twice, a form is sent once: its second answer would be shown in place of the first. Shown again by going back, it can be sent.
document.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement;
  if (form.method !== 'post' || event.defaultPrevented) return;
  if (form.dataset.sent !== undefined) event.preventDefault();
  form.dataset.sent = '';
});
window.addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll<HTMLFormElement>('form[data-sent]')) delete form.dataset.sent;
});

// What the page asks for by itself may come to nothing: nobody is to take what is old for what is.
const away = document.querySelector<HTMLElement>('#away');
const tell = (isAway: boolean) => {
  if (away) away.hidden = !isAway;
};
for (const name of ['htmx:sendError', 'htmx:responseError', 'htmx:timeout'])
  document.addEventListener(name, () => tell(true));
document.addEventListener('htmx:afterRequest', (event) => {
  if ((event as CustomEvent<{ successful?: boolean }>).detail.successful) tell(false);
});

for (const field of document.querySelectorAll<HTMLElement>('[data-copy]')) {
  const { copy, copied } = field.dataset;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button plain';
  button.textContent = copy!;
  button.addEventListener('click', () => {
    const { value } = field.querySelector('input')!;
    navigator.clipboard.writeText(value).then(
      () => (button.textContent = copied!),
      () => undefined,
    );
  });
  // Pages that come by plain HTTP have none.
  if (navigator.clipboard as Clipboard | undefined) field.append(button);
}

declare const Idiomorph:
  | { defaults: { callbacks: { beforeAttributeUpdated: (name: string, element: Element) => boolean } } }
  | undefined;

// Where a page takes over what has changed: what somebody has opened stays open.
if (typeof Idiomorph !== 'undefined')
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, element) =>
    !(name === 'open' && element instanceof HTMLDetailsElement);

export {};
