import { Controller, Get, HttpCode, Injectable, Req } from '@nestjs/common';
import { type Request } from 'express';
import { createHash, timingSafeEqual } from 'node:crypto';
import { ReadSource } from '#libs/database';
import { DatabaseMonitor } from '#libs/operations';
import { type ProjectionStatus } from '#libs/projections';
import { RateLimitStatus } from '#libs/rate-limit';
import { Documented, type FieldSchema, recordSchema, RpcError } from '#libs/rpc';
import { Sealer, type SealingProgress } from '#libs/sealing';
import { Subscriptions, type SubscriptionStatus } from '#libs/subscriptions';
import { Cosigning } from '../audit/index.js';
import { SelfCheck } from '../self-check/index.js';

const integer: FieldSchema = { type: 'integer' };

const progress: FieldSchema = {
  type: 'array',
  description: 'The progress of each projection. Requires HEALTH_TOKEN.',
  items: recordSchema({
    name: { type: 'string' },
    version: integer,
    position: integer,
    lag: { ...integer, description: 'Positions of the log that it has not applied yet.' },
    failure: {
      ...recordSchema({ position: integer, at: { type: 'string', format: 'date-time' } }),
      type: ['object', 'null'],
    },
  }),
};

const sealing: FieldSchema = {
  ...recordSchema({
    position: { ...integer, description: 'How far the history is sealed.' },
    lag: { ...integer, description: 'Positions that are not sealed yet.' },
    refused: {
      ...integer,
      description:
        'Quarantined organizations: their stored history differs from what was signed, so sealing stopped.',
    },
  }),
  type: ['object', 'null'],
  description: 'As last seen by this instance. Requires HEALTH_TOKEN.',
};

const selfCheck: FieldSchema = {
  ...recordSchema({
    findings: { ...integer, description: 'Histories and projections with differences.' },
    subjects: { ...integer, description: 'Histories and projections that are checked.' },
    current: { ...integer, description: 'Those that were checked on schedule.' },
  }),
  type: ['object', 'null'],
  description: 'As last seen by this instance. Requires HEALTH_TOKEN.',
};

const witnesses: FieldSchema = {
  ...recordSchema({
    contradicted: {
      ...integer,
      description:
        'Organizations whose history a witness contradicts. The log of all organizations counts as one.',
    },
    failing: {
      ...integer,
      description:
        'Witnesses that fail or return invalid responses. Reported only by the instance that queries them.',
    },
  }),
  type: ['object', 'null'],
  description: 'As last seen by this instance. Null if no witness is configured. Requires HEALTH_TOKEN.',
};

const subscriptions: FieldSchema = {
  type: ['array', 'null'],
  description: 'The progress of each subscription, as last seen by this instance. Requires HEALTH_TOKEN.',
  items: recordSchema({
    name: { type: 'string' },
    position: integer,
    lag: { ...integer, description: 'Positions that it has not reached yet.' },
    retrying: { ...integer, description: 'Events that are retried automatically.' },
    parked: { ...integer, description: 'Dead-lettered events: they are not retried automatically.' },
  }),
};

function answer(fields: Record<string, FieldSchema>, toOperators: Record<string, FieldSchema> = {}): object {
  const status: FieldSchema = { type: 'string', enum: ['ok', 'degraded'] };
  const data = recordSchema({ status, ...fields });
  return recordSchema({
    data: { ...data, properties: { ...data.properties, ...toOperators } },
    object: { type: 'string', enum: ['health'] },
  });
}

/** Only operators, who have the token, may see how much was written and the progress of projections. */
@Injectable()
export class HealthAccess {
  private readonly hash: Buffer | undefined;

  /** @param token if undefined, no one has access. */
  constructor(token?: string) {
    this.hash = token === undefined ? undefined : sha256(token);
  }

  /** @param header the Authorization header. */
  allows(header: string | undefined): boolean {
    const [, token] = /^Bearer +(\S+) *$/i.exec(header ?? '') ?? [];
    return this.hash !== undefined && token !== undefined && timingSafeEqual(this.hash, sha256(token));
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Whether load balancers may send requests here at all. */
@Injectable()
export class Readiness {
  isEnding = false;

  /** From now on, load balancers should send requests to other instances. */
  end(): void {
    this.isEnding = true;
  }
}

/** Reports to load balancers whether the process is alive and can serve traffic. */
@Controller('health')
@Documented(({ ApiTags }) => [ApiTags('health')])
export class HealthController {
  constructor(
    private readonly database: DatabaseMonitor,
    private readonly rateLimit: RateLimitStatus,
    private readonly access: HealthAccess,
    private readonly readiness: Readiness,
    private readonly reads: ReadSource,
    private readonly sealer: Sealer,
    private readonly selfCheck: SelfCheck,
    private readonly cosigning: Cosigning,
    private readonly subscriptions: Subscriptions,
  ) {}

  @Get('live')
  @HttpCode(200)
  @Documented(({ ApiOperation, ApiResponse }) => [
    ApiOperation({
      operationId: 'checkLiveness',
      summary: 'Check whether the process is running',
      description: 'Does not use the database. Restart a process that does not respond.',
    }),
    ApiResponse({ status: 200, description: 'The process is running', schema: answer({}) }),
  ])
  live(): object {
    return { data: { status: 'ok' }, object: 'health' };
  }

  /**
   * Ready while the database reads and writes. Not ready after three seconds of failures, and ready again after three to five seconds
   * without failures. If Redis is down or a projection fails, the instance reports `degraded` but keeps its traffic, because every
   * other instance is in the same state.
   */
  @Get('ready')
  @HttpCode(200)
  @Documented(({ ApiBearerAuth, ApiOperation, ApiResponse }) => [
    ApiOperation({
      operationId: 'checkReadiness',
      summary: 'Check whether the instance can serve requests',
      description:
        'A `degraded` instance can still serve: see `redis`, `replica`, `projections`, `sealing`, `selfCheck`, ' +
        '`witnesses` and `subscriptions`. The last five require HEALTH_TOKEN, sent as `Authorization: Bearer …`.',
    }),
    ApiBearerAuth(),
    ApiResponse({
      status: 200,
      description: 'The instance can serve requests',
      schema: answer(
        { database: { type: 'string' }, redis: { type: 'string' }, replica: { type: 'string' } },
        { projections: progress, sealing, selfCheck, witnesses, subscriptions },
      ),
    }),
    ApiResponse({
      status: 503,
      description:
        'The database does not respond or accepts no writes (see `error.message`), or the instance is shutting down',
    }),
  ])
  async ready(@Req() { headers }: Request): Promise<object> {
    if (this.readiness.isEnding) {
      throw new RpcError('SERVICE_UNAVAILABLE', 'This instance is shutting down.', {
        reason: 'SHUTTING_DOWN',
        headers: { 'Retry-After': '1' },
      });
    }
    const projections = await this.database.askSteadily();
    const hasProblem = this.database.problem !== undefined;
    const rateLimit = this.rateLimit.describe();
    const replica = this.reads.problem;
    const failing = projections.some(({ failure }) => failure !== null);
    const { lastSeen } = this.sealer;
    const checked = this.selfCheck.lastSeen;
    const witnesses = this.cosigning.lastSeen;
    const isChanged =
      (lastSeen?.refused ?? 0) > 0 ||
      (checked?.findings.length ?? 0) > 0 ||
      (witnesses?.contradicted ?? 0) > 0;
    const reactions = this.subscriptions.lastSeen;
    const isParked = reactions?.some(({ parked }) => parked > 0) ?? false;
    const degraded =
      hasProblem || rateLimit === 'local' || typeof replica === 'string' || failing || isChanged || isParked;
    return {
      data: {
        status: degraded ? 'degraded' : 'ok',
        database: hasProblem ? 'does not respond at the moment' : 'ok',
        redis: { memory: 'not configured', shared: 'ok', local: 'not used: limits apply per instance' }[
          rateLimit
        ],
        replica:
          replica === null
            ? 'not configured'
            : replica === undefined
              ? 'ok'
              : 'not used: the primary serves its reads',
        ...(this.access.allows(headers.authorization) && {
          projections: projections.map(describe),
          sealing: lastSeen ? describeSealing(lastSeen) : null,
          selfCheck: checked ? { ...checked, findings: checked.findings.length } : null,
          witnesses: witnesses ?? null,
          subscriptions: reactions?.map(describeSubscription) ?? null,
        }),
      },
      object: 'health',
    };
  }
}

/** Leaves out the reason of a failure, which may contain internal details. The log contains it. */
function describe({ failure, ...progress }: ProjectionStatus): object {
  return { ...progress, failure: failure && { position: failure.position, at: failure.at } };
}

function describeSealing({ sealed, last, refused }: SealingProgress): object {
  return { position: sealed, lag: Math.max(0, last - sealed), refused };
}

/** Leaves out dead-lettered events, which the command line shows. */
function describeSubscription({ parkedEvents: _, ...progress }: SubscriptionStatus): object {
  return progress;
}
