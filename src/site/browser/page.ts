/** Updates the number of signatures, and adds the button that copies the link. Pages also work without it. */
type Count = {
  signatures: number;
  goal: number;
  texts: { counted: string; aim: string; progress: string };
};

// A block, because classic scripts share their top-level names.
{
  /** Pixels between the form and the edges of the window. */
  const MARGIN = 16;
  const column = document.querySelector<HTMLElement>('.beside');
  if (column) {
    // The form stays in view. If it is taller than the window, it first scrolls until its end is in view.
    const stick = () => {
      column.style.top = `${Math.min(MARGIN, innerHeight - column.offsetHeight - MARGIN)}px`;
    };
    new ResizeObserver(stick).observe(column);
    addEventListener('resize', stick);
  }

  // Tells the form in a frame. Browsers only deliver this if the page around the frame has the same site.
  const confirmed = document.querySelector<HTMLElement>('[data-confirmed]')?.dataset.confirmed;
  if (confirmed) new BroadcastChannel('confirmed').postMessage(confirmed);

  const counter = document.querySelector<HTMLElement>('[data-count]');
  if (counter) {
    const show = ({ signatures, goal, texts }: Count) => {
      document.querySelectorAll('[data-signatures]').forEach((one) => (one.textContent = texts.counted));
      counter.querySelector('[data-goal]')!.textContent = texts.aim;
      const bar = counter.querySelector('progress')!;
      bar.max = goal;
      bar.value = Math.min(signatures, goal);
      bar.setAttribute('aria-label', texts.progress);
    };
    setInterval(() => {
      if (document.visibilityState !== 'visible') return;
      fetch(counter.dataset.count!)
        .then(async (answer) => answer.ok && show((await answer.json()) as Count))
        .catch(() => undefined);
    }, 10_000);
  }

  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-dates]')) {
    const minute = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' } as const;
    time.textContent = new Intl.DateTimeFormat(time.dataset.dates, {
      ...{ day: 'numeric', month: 'long', year: 'numeric' },
      ...minute,
    }).format(new Date(time.dateTime));
  }

  for (const copy of document.querySelectorAll<HTMLElement>('[data-copy]')) {
    if (!(navigator.clipboard as Clipboard | undefined)) break;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'button plain';
    button.textContent = copy.dataset.copy!;
    button.addEventListener('click', () => {
      navigator.clipboard.writeText(copy.querySelector<HTMLInputElement>('[readonly]')!.value).then(
        () => (button.textContent = copy.dataset.copied!),
        () => undefined,
      );
    });
    copy.append(button);
  }

  // Reloading the page would send the form again.
  const submitted = document.querySelector<HTMLElement>('[data-thanks]');
  if (submitted) history.replaceState(null, '', submitted.dataset.thanks);
}
