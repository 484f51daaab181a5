import { pathToFileURL } from 'node:url';
import { BoundedThread } from '#libs/threads';
import { CONTACT_FIELDS, type MergeFields, ORGANIZATION_FIELDS } from './merge-fields.js';
import { type templateJobs } from './template-jobs.js';
import { Templates, type TemplateThread } from './templates.js';
import { longIt } from '../../test/length.js';

const nothing = (fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, null]));
const values = (firstName: string) =>
  ({
    contact: { ...nothing(CONTACT_FIELDS), firstName, fields: {} },
    organization: nothing(ORGANIZATION_FIELDS),
    unsubscribeUrl: 'https://act.example.org/u/token',
  }) as MergeFields;
const written = (content: string, subject = 'News') =>
  ({ subject, preheader: null, content, format: 'MARKDOWN', hasPetition: false, fieldKeys: [] }) as const;

/**
 * A thread like the product's, except that one contact and one text make it run forever.
 *
 * @param limits by default, those of the product. A new thread loads its packages before it compiles.
 */
function strange(limits = { compile: 1_000, render: 250 }): TemplateThread {
  const dist = pathToFileURL(`${process.cwd()}/dist/`).href;
  const source = `
    import { serveJobs } from '${dist}libs/threads/index.js';
    import { templateJobs } from '${dist}src/broadcasts/template-jobs.js';
    const { compile, render } = templateJobs();
    serveJobs({
      compile: (id, source) => { while (source.content === 'Spin'); return compile(id, source); },
      render: (id, values) => { while (values.contact.firstName === 'Spin'); return render(id, values); },
    });`;
  return new BoundedThread<ReturnType<typeof templateJobs>>(
    new URL(`data:text/javascript,${encodeURIComponent(source)}`),
    limits,
  );
}

const usual = new Templates();

/** Takes a tenth of a second to render, which is the limit of one part. */
const ENDLESS = '{% for a in (1..100000) %}{% for b in (1..100000) %}{% endfor %}{% endfor %}';

it('renders the message of each recipient with their details', async () => {
  const template = await usual.compile(written('Dear **{{ contact.firstName }}**'));
  const letters = await Promise.all(['Ada', 'Bob'].map((name) => template.render(values(name))));
  expect(letters.map(({ rendered }) => rendered.text)).toEqual(['Dear Ada', 'Dear Bob']);
  expect(letters[0]!.rendered.html).toContain('<strong>Ada</strong>');
});

it('rejects an invalid template with the error and its place', async () => {
  await expect(usual.compile(written('x', '{{ contact.nickname }}'))).rejects.toMatchObject({
    blocker: 'UNKNOWN_MERGE_FIELD',
    part: 'subject',
  });
  const template = await usual.compile(written(ENDLESS));
  await expect(template.render(values('Ada'))).rejects.toMatchObject({ blocker: 'TEMPLATE_INVALID' });
});

it('stops and reports a template that takes too long, and renders all others', async () => {
  const templates = new Templates(strange());
  const source = written('Dear {{ contact.firstName }}');
  const [slow, other] = await Promise.all([templates.compile(source), templates.compile(source)]);
  const outcomes = await Promise.allSettled([slow.render(values('Spin')), other.render(values('Bob'))]);
  expect(outcomes).toEqual([
    {
      status: 'rejected',
      reason: expect.objectContaining({
        blocker: 'TEMPLATE_INVALID',
        message: 'The template takes too long to render. Simplify it.',
      }),
    },
    {
      status: 'fulfilled',
      value: expect.objectContaining({ rendered: expect.objectContaining({ text: 'Dear Bob' }) }),
    },
  ]);
  const impatient = new Templates(strange({ compile: 100, render: 100 }));
  await expect(impatient.compile(written('Spin'))).rejects.toThrow(
    'The template takes too long to render. Simplify it.',
  );
});

longIt('reloads templates in a new thread and in one that has dropped them', async () => {
  const thread = strange();
  const templates = new Templates(thread);
  // The thread keeps 32 templates.
  const many = await Promise.all(
    Array.from({ length: 40 }, (_, n) => templates.compile(written(`${n} {{ contact.firstName }}`))),
  );
  for (let time = 0; time < 2; time += 1) {
    const letters = await Promise.all(many.map((template) => template.render(values('Ada'))));
    expect(letters.map(({ rendered }) => rendered.text)).toEqual(many.map((_, n) => `${n} Ada`));
    await thread.end();
  }
});
