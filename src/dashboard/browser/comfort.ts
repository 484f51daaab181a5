/** What every page of the dashboard runs: who is shown faults hears of them first. All else works without it. */
document.querySelector<HTMLElement>('#faults')?.focus();

export {};
