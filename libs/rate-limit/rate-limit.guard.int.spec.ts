import { randomUUID } from 'node:crypto';
import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  type INestApplication,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { SkipThrottle } from '@nestjs/throttler';
import { type Request, type Response } from 'express';
import { RpcError } from '#libs/rpc';
import { type RedisServer, startRedis } from '#libs/testing';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitModule, RateLimitStatus } from './rate-limit.module.js';

@Controller()
class Routes {
  @Get('one')
  one() {
    return {};
  }

  @Get('two')
  two() {
    return {};
  }

  @SkipThrottle()
  @Get('health')
  health() {
    return {};
  }
}

/** Replaces the authentication, and trusts the headers. */
class Identify implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const { key, limit, group, grouplimit } = request.headers as Record<string, string | undefined>;
    if (!key) return true;
    request.rateLimits = limit === 'unlimited' ? [] : [{ key, limit: Number(limit), reason: 'KEY_RATE' }];
    if (group) {
      const all = { key: group, limit: Number(grouplimit), reason: 'ORGANIZATION_RATE' } as const;
      request.rateLimits = [...request.rateLimits, all];
    }
    return true;
  }
}

@Catch(RpcError)
class Answer implements ExceptionFilter<RpcError> {
  catch({ status, code, message }: RpcError, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(status).json({ code, message });
  }
}

async function start(redisUrl?: string): Promise<{ app: INestApplication; url: string }> {
  const module = await Test.createTestingModule({
    imports: [RateLimitModule.forRoot({ redisUrl })],
    controllers: [Routes],
    providers: [
      { provide: APP_GUARD, useClass: Identify },
      { provide: APP_GUARD, useClass: RateLimitGuard },
      { provide: APP_FILTER, useClass: Answer },
    ],
  }).compile();
  const app = module.createNestApplication();
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl() };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Repeats the work until a run fits into a second, the window of the limit. Each run needs its own callers. */
async function withinASecond<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    const start = performance.now();
    const result = await work();
    if (performance.now() - start <= 950) return result;
  }
}

const limitHeaders = (response: globalThis.Response) =>
  Object.fromEntries([...response.headers].filter(([name]) => /limit|retry/.test(name)));

describe('RateLimitGuard', () => {
  let app: INestApplication;
  let url: string;

  beforeEach(async () => {
    ({ app, url } = await start());
  });
  afterEach(() => app.close());

  it('adds the remaining budget to every response, in these headers only', async () => {
    const answers = await withinASecond(async () => {
      const headers = { key: randomUUID(), limit: '25' };
      return [await fetch(`${url}/one`, { headers }), await fetch(`${url}/one`, { headers })];
    });
    const limit = {
      'ratelimit-limit': '25',
      'ratelimit-reset': '1',
      'ratelimit-policy': '"KEY_RATE";q=25;w=1',
    };
    expect(answers.map(limitHeaders)).toEqual([
      { ...limit, 'ratelimit-remaining': '24', ratelimit: '"KEY_RATE";r=24;t=1' },
      { ...limit, 'ratelimit-remaining': '23', ratelimit: '"KEY_RATE";r=23;t=1' },
    ]);
  });

  it('returns 429 with the limit and the time to wait', async () => {
    const headers = { key: randomUUID(), limit: '1' };
    const responses = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/one`, { headers })));
    const rejected = responses.find(({ status }) => status === 429);
    expect(limitHeaders(rejected!)).toEqual({
      'ratelimit-limit': '1',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '1',
      'ratelimit-policy': '"KEY_RATE";q=1;w=1',
      ratelimit: '"KEY_RATE";r=0;t=1',
      'retry-after': '1',
    });
    expect(await rejected!.json()).toEqual({
      code: 'RATE_LIMIT_EXCEEDED',
      message: 'The limit is 1 request per second. Try again in 1 second.',
    });
  });

  it('delays only callers that ignore rejections', async () => {
    // The well-behaved caller sends two requests within a second. On a busy machine, the run is repeated with
    // other callers.
    for (;;) {
      const [flooding, patient] = [randomUUID(), randomUUID()];
      let refused = 0;
      const began = performance.now();
      const flood = Array.from({ length: 200 }, async () => {
        const { status } = await fetch(`${url}/one`, { headers: { key: flooding, limit: '1' } });
        refused += status === 429 ? 1 : 0;
      });
      await until(() => refused >= 50);
      const asked = performance.now();
      const [first, second] = [
        await fetch(`${url}/one`, { headers: { key: patient, limit: '1' } }),
        await fetch(`${url}/one`, { headers: { key: patient, limit: '1' } }),
      ];
      const isWithinASecond = performance.now() - asked <= 950;
      const refusedBefore = refused;
      await Promise.all(flood);
      if (!isWithinASecond) continue;
      expect([first.status, second.status]).toEqual([200, 429]);
      expect(refusedBefore).toBeLessThan(199);
      const seconds = Math.ceil((performance.now() - began) / 1_000);
      expect(refused).toBeLessThanOrEqual(199);
      expect(refused).toBeGreaterThanOrEqual(200 - 1 - seconds);
      return;
    }
  });

  it('counts a caller across all routes', async () => {
    const second = await withinASecond(async () => {
      const headers = { key: randomUUID(), limit: '100' };
      await fetch(`${url}/one`, { headers });
      return fetch(`${url}/two`, { headers });
    });
    expect(second.headers.get('ratelimit-remaining')).toBe('98');
  });

  it('limits an unknown caller by address to ten per second', async () => {
    expect(limitHeaders(await fetch(`${url}/one`))).toMatchObject({
      'ratelimit-limit': '10',
      'ratelimit-remaining': '9',
    });
  });

  it('applies two limits at once, and reports the tighter one', async () => {
    const ask = async (headers: Record<string, string>) => {
      const response = await fetch(`${url}/one`, { headers });
      const limited = limitHeaders(response);
      const { message } = (await response.json()) as { message?: string };
      return [response.status, limited['ratelimit-limit'], limited['ratelimit-remaining'], message];
    };
    const own = 'The limit is 2 requests per second. Try again in 1 second.';
    const together =
      'The API keys of your organization share a limit of 4 requests per second. Try again in 1 second.';
    const answers = await withinASecond(async () => {
      const group = randomUUID();
      const caller = (limit: string) => ({ key: randomUUID(), limit, group, grouplimit: '4' });
      const [one, two] = [caller('10'), caller('2')];
      const answered: unknown[] = [];
      // A request that its own limit rejects does not use up the group's limit.
      for (const headers of [one, two, two, two, two, two, one, one]) answered.push(await ask(headers));
      return answered;
    });
    expect(answers).toEqual([
      [200, '4', '3', undefined],
      [200, '2', '1', undefined],
      [200, '2', '0', undefined],
      ...Array<unknown>(3).fill([429, '2', '0', own]),
      [200, '4', '0', undefined],
      [429, '4', '0', together],
    ]);
  });

  it.each([
    ['an unlimited caller', '/one', { key: randomUUID(), limit: 'unlimited' }],
    ['a route that skips it', '/health', { key: randomUUID(), limit: '1' }],
  ])('does not limit %s', async (_, path, headers) => {
    for (let n = 0; n < 5; n++) {
      const response = await fetch(url + path, { headers });
      expect(response.status).toBe(200);
      expect(limitHeaders(response)).toEqual({});
    }
  });
});

describe('RateLimitModule', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  it('counts in memory without Redis', async () => {
    const { app } = await start();
    expect(app.get(RateLimitStatus).describe()).toBe('memory');
    await app.close();
  });

  it('counts in Redis, reports when it cannot, and closes its connection with the application', async () => {
    const { app, url } = await start(server.url);
    const headers = { key: randomUUID(), limit: '100' };
    expect((await fetch(`${url}/one`, { headers })).headers.get('ratelimit-remaining')).toBe('99');
    expect(app.get(RateLimitStatus).describe()).toBe('shared');

    await server.stop();
    expect((await fetch(`${url}/one`, { headers })).headers.get('ratelimit-remaining')).toBe('99');
    expect(app.get(RateLimitStatus).describe()).toBe('local');
    server = await startRedis(server.port);
    await app.close();
  });
});
