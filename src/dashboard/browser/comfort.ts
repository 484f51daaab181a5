/** What every page of the dashboard runs: who is shown faults hears of them first. All else works without it. */
document.querySelector<HTMLElement>('#faults')?.focus();

declare const Idiomorph:
  | { defaults: { callbacks: { beforeAttributeUpdated: (name: string, element: Element) => boolean } } }
  | undefined;

// Where a page takes over what has changed: what somebody has opened stays open.
if (typeof Idiomorph !== 'undefined')
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, element) =>
    !(name === 'open' && element instanceof HTMLDetailsElement);

export {};
