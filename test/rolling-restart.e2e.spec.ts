import { findFreePort, findProgram, type Haproxy, startHaproxy } from '#libs/testing';
import { Deployment, eventually, type ServerProcess } from './processes.js';

const program = findProgram('haproxy');
if (!program) console.log('Skipped: rolling restart behind haproxy, which is not installed.');

(program ? it : it.skip)(
  'three instances restarted one after the other behind haproxy, under load: no request fails',
  async () => {
    const deployment = await Deployment.create();
    let haproxy: Haproxy | undefined;
    try {
      const ports = [await findFreePort(), await findFreePort(), await findFreePort()];
      const start = (port: number) => deployment.startServer({ PORT: String(port), SHUTDOWN_DELAY: '4' });
      const organization = await deployment.organization();
      const servers: ServerProcess[] = await Promise.all(ports.map(start));
      haproxy = await startHaproxy(program!, ports);
      const { origin } = haproxy;
      const client = organization.at(origin);
      await eventually(async () => expect((await client.get('contact.list-contacts')).status).toBe(200));

      let ended = false;
      let done = 0;
      const failures: unknown[] = [];
      // fetch keeps its connections.
      const load = Array.from({ length: 6 }, async (_, worker) => {
        for (let n = 0; !ended; n += 1) {
          const contact = { organizationId: client.organizationId, email: `${worker}.${n}@example.org` };
          try {
            const { status, body } =
              n % 2
                ? await client.get('contact.list-contacts', { limit: '1' })
                : await client.post('contact.create-contact', contact);
            if (status !== 200) failures.push([status, body]);
          } catch (error) {
            failures.push(error);
          }
          done += 1;
        }
      });
      const anybody = async (count: number) => {
        const before = done;
        await eventually(() => expect(done).toBeGreaterThan(before + count));
      };
      for (const [n, server] of servers.entries()) {
        expect((await server.end('SIGTERM')).status).toBe(0);
        await anybody(20);
        const again = await start(ports[n]!);
        await eventually(async () => expect((await fetch(`${again.origin}/health/ready`)).status).toBe(200));
        // haproxy gives it its part again.
        await eventually(() => expect(again.log.some(({ path }) => path?.startsWith('/v1/'))).toBe(true));
      }
      ended = true;
      await Promise.all(load);
      console.log(`Rolling restart behind haproxy: ${done} requests, ${failures.length} failed.`);
      expect(failures).toEqual([]);
    } finally {
      await haproxy?.remove();
      await deployment.stop();
    }
  },
);
