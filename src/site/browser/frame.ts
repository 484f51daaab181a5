/** Reports the height of the frame to the page that embeds it, and whether the form was sent. */
{
  const submitted = document.querySelector<HTMLElement>('[data-submitted]')?.dataset.submitted;
  const report = () =>
    parent.postMessage(
      { advocacyHeight: document.documentElement.offsetHeight, advocacySubmitted: submitted },
      '*',
    );
  new ResizeObserver(report).observe(document.body);
  report();
}
