import { Controller, Get, HttpCode } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { Projections } from '#libs/projections';
import { RateLimitStatus } from '#libs/rate-limit';
import { type FieldSchema, recordSchema, RpcError } from '#libs/rpc';

/** A database that takes longer than this to answer `SELECT 1` is as good as away. */
const DATABASE_TIMEOUT_MS = 2_000;

const integer: FieldSchema = { type: 'integer' };

const readinessFields: Record<string, FieldSchema> = {
  database: { type: 'string' },
  redis: { type: 'string' },
  projections: {
    type: 'array',
    items: recordSchema({
      name: { type: 'string' },
      version: integer,
      position: integer,
      lag: { ...integer, description: 'Events it has still to read.' },
      failure: {
        ...recordSchema({ position: integer, at: { type: 'string', format: 'date-time' } }),
        type: ['object', 'null'],
      },
    }),
  },
};

function answer(fields: Record<string, FieldSchema>): object {
  const status: FieldSchema = { type: 'string', enum: ['ok', 'degraded'] };
  return recordSchema({
    data: recordSchema({ status, ...fields }),
    object: { type: 'string', enum: ['health'] },
  });
}

/** Two questions of a load balancer: is the process alive, and may it have traffic. */
@Controller('health')
@ApiTags('health')
export class HealthController {
  constructor(
    private readonly projections: Projections,
    private readonly rateLimit: RateLimitStatus,
  ) {}

  @Get('live')
  @HttpCode(200)
  @ApiOperation({ operationId: 'health.live', summary: 'The process answers' })
  @ApiResponse({ status: 200, description: 'It does', schema: answer({}) })
  live(): object {
    return { data: { status: 'ok' }, object: 'health' };
  }

  /**
   * Ready as long as the database answers. Redis away or a read model failing is told as `degraded`, and
   * keeps the traffic: every other instance would be in the same state.
   */
  @Get('ready')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'health.ready',
    summary: 'The instance can serve: database, Redis, read models',
    description: 'Degraded, it can still serve: see `redis` and `projections`.',
  })
  @ApiResponse({ status: 200, description: 'It can', schema: answer(readinessFields) })
  @ApiResponse({ status: 503, description: 'The database does not answer' })
  async ready(): Promise<object> {
    const projections = await this.readProjections();
    const rateLimit = this.rateLimit.describe();
    const degraded = rateLimit === 'local' || projections.some(({ failure }) => failure !== null);
    return {
      data: {
        status: degraded ? 'degraded' : 'ok',
        database: 'ok',
        redis: { memory: 'not configured', shared: 'ok', local: 'unreachable: limits count per instance' }[
          rateLimit
        ],
        // The reason of a failure may name what is inside, and anybody may ask: the log has it.
        projections: projections.map(({ failure, ...progress }) => ({
          ...progress,
          failure: failure && { position: failure.position, at: failure.at },
        })),
      },
      object: 'health',
    };
  }

  private async readProjections() {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer in time')), DATABASE_TIMEOUT_MS);
    });
    try {
      return await Promise.race([this.projections.status(), late]);
    } catch (error) {
      throw new RpcError('SERVICE_UNAVAILABLE', 'The database does not answer.', {}, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }
}
