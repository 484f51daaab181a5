import { BoundedThread } from '#libs/threads';
import { RichText, type RichTextThread } from './rich-text.js';

const LONG = `Hello **world** ${'word '.repeat(2_000)}`;

it('renders long texts in the thread exactly like short ones outside it', async () => {
  const texts = new RichText();
  expect(String(await texts.show('Hello **world**'))).toBe('<p>Hello <strong>world</strong></p>\n');
  expect(String(await texts.show(LONG))).toMatch(/^<p>Hello <strong>world<\/strong> word/);
  expect(await texts.show({ blocks: [{ text: LONG }] })).toBeNull();
});

it('shows a text that takes too long as typed, and does not retry', async () => {
  const source = `
    import { parentPort, workerData } from 'node:worker_threads';
    parentPort.on('message', ([{ number }]) => { Atomics.store(workerData, 0, number); for (;;); });`;
  const thread: RichTextThread = new BoundedThread<{ html: (content: unknown) => string | null }>(
    new URL(`data:text/javascript,${encodeURIComponent(source)}`),
    { html: 100 },
  );
  const run = jest.spyOn(thread, 'run');
  const texts = new RichText(thread);
  const text = `<b>**a**</b>${LONG}\n\nEnd`;
  for (let time = 0; time < 2; time += 1)
    expect(String(await texts.show(text))).toMatch(/^<p>&lt;b&gt;\*\*a\*\*.*<\/p><p>End<\/p>$/);
  expect(run).toHaveBeenCalledTimes(1);
});
