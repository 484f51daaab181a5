import { WORDS } from '../src/dashboard/index.js';
import { Api, type Client } from './harness.js';
import { signedIn, type Visitor } from './people-in.js';
import { call } from './petition-page.js';

const { en, de } = WORDS;

let api: Api;
let client: Client;
let editor: Visitor;
let editors = 0;
beforeAll(async () => {
  api = await Api.start({ environment: { TRUST_PROXY: '1' } });
});
afterAll(() => api.stop());
beforeEach(async () => {
  client = await api.organization();
  // Each is somebody else: nobody opens as many pages in a second.
  editor = await signedIn(api, client, 'EDITOR', `editor-${(editors += 1)}@example.org`);
});

/** The same person, in the language of these words. */
const speaking = (words: typeof en) => editor.at(api.origin, words.locale);

const at = (path: string) => `/dashboard/${client.organizationId}/${path}`;

async function shown(path: string, visitor = editor): Promise<string> {
  const { status, text } = await visitor.get(at(path));
  expect([path, status]).toEqual([path, 200]);
  return text;
}

describe('addresses that get no mail', () => {
  it.each(['ada', 'ada@', 'ada@example', 'example.org'])(
    'are found by the whole address alone, which is said: %s',
    async (typed) => {
      await call(client, 'suppression.create-suppression', { email: 'ada@example.org' });
      for (const words of [en, de]) {
        const text = await shown(`suppressions?email=${encodeURIComponent(typed)}`, speaking(words));
        expect(text).toContain(words.suppressions.wholeAddress);
        expect(text).not.toContain('ada@example.org</');
        expect(text).toContain(`value="${typed}"`);
      }
    },
  );

  it('are found by theirs, and nothing is found by that of another', async () => {
    await call(client, 'suppression.create-suppression', { email: 'ada@example.org' });
    expect(await shown('suppressions?email=Ada@example.org')).toContain('>ada@example.org<');
    const other = await shown('suppressions?email=alan@example.org');
    expect(other).toContain(en.nothingFound);
    expect(other).not.toContain(en.suppressions.wholeAddress);
  });
});
