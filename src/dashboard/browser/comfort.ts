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

declare const Idiomorph:
  | { defaults: { callbacks: { beforeAttributeUpdated: (name: string, element: Element) => boolean } } }
  | undefined;

// Where a page takes over what has changed: what somebody has opened stays open.
if (typeof Idiomorph !== 'undefined')
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, element) =>
    !(name === 'open' && element instanceof HTMLDetailsElement);

export {};
