/** Reports the height of the frame to the page that embeds it, and whether the form was sent and confirmed. */
{
  const sent = document.querySelector<HTMLElement>('[data-submitted]');
  const submitted = sent?.dataset.submitted;
  let isConfirmed = submitted === 'NONE';
  const report = () =>
    parent.postMessage(
      {
        advocacyHeight: document.documentElement.offsetHeight,
        advocacySubmitted: submitted,
        advocacyConfirmed: isConfirmed,
      },
      '*',
    );
  new ResizeObserver(report).observe(document.body);
  report();
  if (sent)
    new BroadcastChannel('confirmed').onmessage = ({ data }) => {
      if (data !== sent.dataset.path) return;
      isConfirmed = true;
      report();
    };
}
