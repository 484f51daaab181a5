import { type NestExpressApplication } from '@nestjs/platform-express';
import { CommandBus } from '@nestjs/cqrs';
import { type AddressInfo } from 'node:net';
import { v7 as uuidv7 } from 'uuid';
import { JsonLogger } from '#libs/operations';
import { type Input } from '#libs/rpc';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { CreateApiKey, RevokeApiKey } from '../src/auth/index.js';
import { readConfig } from '../src/config.js';
import { CreateOrganization } from '../src/organizations/index.js';
import { openRuntime, type Runtime } from '../src/runtime.js';
import { createApplication } from '../src/server.js';

export type Answer = { status: number; body: any; headers: Headers };
type Key = { id: string; key: string };

/** Speaks to one server with one organization's key. */
export class Client {
  constructor(
    readonly origin: string,
    readonly organizationId: string,
    readonly key: string | undefined,
  ) {}

  /** The same organization and key, on another server. */
  at(origin: string): Client {
    return new Client(origin, this.organizationId, this.key);
  }

  get(
    operation: string,
    query: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.request(
      'GET',
      `/v1/${operation}?${new URLSearchParams(query).toString()}`,
      undefined,
      headers,
    );
  }

  post(operation: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request('POST', `/v1/${operation}`, JSON.stringify(body), headers);
  }

  delete(operation: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request('DELETE', `/v1/${operation}`, JSON.stringify(body), headers);
  }

  async request(
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(this.origin + path, {
      method,
      ...(body === undefined ? {} : { body }),
      headers: {
        ...(this.key === undefined ? {} : { Authorization: `Bearer ${this.key}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
  }
}

export type Instance = { origin: string; app: NestExpressApplication; runtime: Runtime };

/** One or more instances of the product in this process, on a database of their own. */
export class Api {
  private constructor(
    readonly database: TestDatabase,
    readonly instances: Instance[],
  ) {}

  static async start({
    instances = 1,
    redisUrl,
  }: { instances?: number; redisUrl?: string } = {}): Promise<Api> {
    const database = await createTestDatabase();
    const api = new Api(database, []);
    for (let n = 0; n < instances; n += 1) await api.addInstance(redisUrl);
    return api;
  }

  async addInstance(redisUrl?: string): Promise<Instance> {
    const config = readConfig({
      DATABASE_URL: this.database.url,
      ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      PORT: '0',
      HOST: '127.0.0.1',
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    });
    const logger = new JsonLogger('silent');
    const runtime = await openRuntime(config, logger);
    const app = await createApplication(config, runtime, logger);
    await app.listen(0, '127.0.0.1');
    runtime.projections.poll();
    const { port } = app.getHttpServer().address() as AddressInfo;
    const instance = { origin: `http://127.0.0.1:${port}`, app, runtime };
    this.instances.push(instance);
    return instance;
  }

  get origin(): string {
    return this.instances[0]!.origin;
  }

  /** A new organization with a key that no rate limit slows down. */
  async organization(): Promise<Client> {
    const organizationId = uuidv7();
    await this.run(CreateOrganization, organizationId, { name: 'Test organization' });
    const { key } = await this.createKey(organizationId);
    return new Client(this.origin, organizationId, key);
  }

  async createKey(organizationId: string, options: Partial<CreateApiKey> = {}): Promise<Key> {
    const { apiKeyId: id, key } = await this.run<{ apiKeyId: string; key: string }>(
      CreateApiKey,
      organizationId,
      { name: 'Test', scopes: ['*'], rateLimit: 'unlimited', expiresAt: null, ...options },
    );
    return { id, key };
  }

  async revokeKey(organizationId: string, apiKeyId: string): Promise<void> {
    await this.run(RevokeApiKey, organizationId, { apiKeyId });
  }

  /** Types of the events of an organization, in order. */
  async eventTypes(organizationId: string): Promise<string[]> {
    const rows = await this.database.source.query(
      'SELECT type FROM events WHERE organization_id = $1 ORDER BY position',
      [organizationId],
    );
    return rows.map(({ type }: { type: string }) => type);
  }

  async stop(): Promise<void> {
    for (const { app, runtime } of this.instances) {
      await app.close();
      await runtime.projections.stop();
      await runtime.close();
    }
    await this.database.drop();
  }

  private run<Result>(type: new () => Input, organizationId: string, fields: object): Promise<Result> {
    const context = { organizationId, actor: { type: 'system', id: 'test' }, requestId: 'test' };
    const command = Object.assign(new type(), fields, { organizationId, context });
    return this.instances[0]!.app.get(CommandBus).execute(command);
  }
}
