import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { testServerUrl } from './database.js';
import { eventually } from './eventually.js';
import { type SilentProxy, startSilentProxy } from './silent-proxy.js';
import { longIt } from '../../test/length.js';

let proxy: SilentProxy;
let clients: Client[];

beforeEach(async () => {
  proxy = await startSilentProxy(testServerUrl());
  clients = [];
});
afterEach(async () => {
  await proxy.close();
  await Promise.all(clients.map((client) => client.end()));
});

/** A connection through the proxy, and its state. */
async function connected() {
  const client = new Client(proxy.url);
  clients.push(client);
  const state = { client, answered: false, ended: false };
  client.on('error', () => undefined);
  client.once('end', () => (state.ended = true));
  await client.connect();
  return state;
}

type State = Awaited<ReturnType<typeof connected>>;

function ask(state: State): void {
  state.client.query('SELECT 1').then(
    () => (state.answered = true),
    () => undefined,
  );
}

const becomes = (state: State, wanted: Partial<State>) =>
  eventually(() => expect(state).toMatchObject(wanted));

longIt('passes everything through', async () => {
  const { client } = await connected();
  const { rows } = await client.query("SELECT repeat('x', 20000000) AS long");
  expect(rows[0].long).toHaveLength(20_000_000);
  expect(proxy.connections).toBe(1);
});

it.each([{ serverGone: false }, { serverGone: true }])(
  'silence: existing connections receive nothing, not even a close, and new ones work (%j)',
  async (options) => {
    const before = await connected();
    proxy.silence(options);
    ask(before);
    const after = await connected();
    // In the meantime, another connection is answered twice.
    for (let n = 0; n < 2; n += 1) await after.client.query('SELECT 1');
    expect(before).toMatchObject({ answered: false, ended: false });
    const own = await after.client.query(
      'SELECT count(*)::int AS there FROM pg_stat_activity WHERE pid = $1',
      [(before.client as unknown as { processID: number }).processID],
    );
    expect(own.rows).toEqual([{ there: options.serverGone ? 0 : 1 }]);
  },
);

it('freeze: all connections hang, including new ones, and continue after the thaw', async () => {
  const before = await connected();
  proxy.freeze();
  ask(before);
  const connecting = connected();
  // Nothing arrives that the test could wait for.
  expect(await Promise.race([connecting.then(() => 'connected'), sleep(500, 'hangs')])).toBe('hangs');
  expect(before).toMatchObject({ answered: false });
  proxy.thaw();
  const after = await connecting;
  ask(after);
  await becomes(after, { answered: true });
  await becomes(before, { answered: true, ended: false });
});

it('cut and refuse: resets existing connections, and refuses new ones until they are accepted again', async () => {
  const before = await connected();
  proxy.refuse();
  proxy.cut();
  ask(before);
  await becomes(before, { answered: false, ended: true });
  await expect(connected()).rejects.toThrow();
  proxy.accept();
  const after = await connected();
  ask(after);
  await becomes(after, { answered: true });
});
