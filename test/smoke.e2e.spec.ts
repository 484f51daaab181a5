import { partsOf } from '#libs/modules';
import { operationOf } from '#libs/rpc';
import { MODULES } from '../src/modules.js';
import { Fixture } from './fixture.js';
import { Api } from './harness.js';
import { OPERATIONS } from './operations.js';

/** The responses of modules without operations. */
const PAGES: Record<string, string> = {
  DashboardModule: '/dashboard/sign-in',
  SiteModule: '/site/icon.svg',
  UnsubscribeModule: '/u/nobody',
};

let api: Api;
let own: Fixture;
beforeAll(async () => {
  api = await Api.start();
  own = new Fixture(api, await api.organization());
});
afterAll(() => api.stop());

it.each(MODULES.map((module) => [module.name, module] as const))(
  '%s writes and reads, shows a page, or works in the background',
  async (name, module) => {
    const { operations, background } = partsOf([module]);
    const definitions = operations.map((input) => operationOf(input)!);
    if (definitions.length === 0 && PAGES[name] === undefined) {
      expect(background).not.toEqual([]);
      for (const type of background) expect(api.instances[0]!.app.get(type)).toBeInstanceOf(type);
      return;
    }
    if (definitions.length === 0) {
      expect((await fetch(api.origin + PAGES[name]!)).status).toBe(200);
      return;
    }
    for (const isRead of [false, true]) {
      const operation = definitions.find(({ method }) => (method === 'GET') === isRead)?.name;
      if (operation === undefined) continue;
      const { status, body } = await own.send(operation, await OPERATIONS[operation]!.ask(own));
      expect([operation, status, body]).toEqual([operation, 200, expect.anything()]);
    }
  },
);
