/** Reports the height of the frame to the page that embeds it. */
{
  const report = () => parent.postMessage({ advocacyHeight: document.documentElement.offsetHeight }, '*');
  new ResizeObserver(report).observe(document.body);
  report();
}
