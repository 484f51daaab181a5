import { Controller, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { createHash } from 'node:crypto';
import { fewAtOnce } from '#libs/database';
import { canonical, EventStore, isObject } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { RateLimitGuard } from '#libs/rate-limit';
import {
  countAnswer,
  Documented,
  readJsonBody,
  type RequestContext,
  requestContext,
  requireReading,
  RpcError,
} from '#libs/rpc';
import { AmazonSns, type SnsEnvelope } from './amazon-sns.js';
import { organizationOfHook } from './mail-hook-token.js';
import { type IdentifiedReport, readReports, readSesReports, type Reports } from './mail-reports.js';
import { Suppressions } from './suppressions.js';

/**
 * Requests per second with a valid token. After a large broadcast, a provider reports thousands of bounces in
 * a burst, and Amazon SNS retries only three times within a minute.
 */
const LIMIT = 200;

/** SNS sends JSON as plain text. */
const TYPES = /^\s*(application\/json|text\/plain)\s*(;|$)/i;

const PATH = /^\/hooks\/mail\/[^/]+$/;

/** The name of `/hooks/mail/…` in logs and metrics: never the token. */
export function nameOfMailHook(path: string): string | undefined {
  return PATH.test(path) ? '/hooks/mail' : undefined;
}

/**
 * Receives reports of bounces and complaints from email providers. They only know the token in the address, so
 * this is not an operation.
 */
@Controller('hooks/mail')
@Documented(({ ApiTags }) => [ApiTags('hooks')])
export class MailHookController {
  constructor(
    private readonly suppressions: Suppressions,
    private readonly sns: AmazonSns,
    private readonly store: EventStore,
    private readonly projections: Projections,
    private readonly rateLimit: RateLimitGuard,
  ) {}

  @Post(':token')
  @HttpCode(200)
  @Documented(({ ApiOperation, ApiBody, ApiConsumes, ApiResponse }) => [
    ApiOperation({
      operationId: 'reportMail',
      summary: 'Report bounces and complaints',
      description:
        'For email providers. The address is `mailHook` of organization.get-organization. Accepts reports from ' +
        'Amazon SES (by SNS), Postmark, SendGrid and Mailgun, and `{ "type": "bounce" or "complaint", "email", ' +
        '"permanent", "messageId" }`. A permanent bounce or a complaint suppresses the address. All other reports ' +
        'are acknowledged and ignored. Requires no key.',
      security: [],
    }),
    ApiConsumes('application/json', 'text/plain'),
    ApiBody({ schema: { type: 'object' }, required: true }),
    ApiResponse({
      status: 200,
      description: 'The report was processed',
      content: { 'application/json': { schema: ANSWER } },
    }),
    ...[400, 404, 413, 415, 429, 500, 503].map((status) =>
      ApiResponse({ status, description: 'Same as for the other operations', content: {} }),
    ),
  ])
  async report(
    @Param('token') token: string,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    const organizationId = organizationOfHook(this.store.keyring, token);
    if (organizationId === undefined) {
      await this.rateLimit.countAddress(request, response);
      throw new RpcError(
        'NOT_FOUND',
        'This hook does not exist. Use organization.get-organization to get its address (mailHook).',
      );
    }
    const budget = {
      key: `mail-hook:${organizationId}`,
      group: organizationId,
      limit: LIMIT,
      reason: 'ADDRESS_RATE',
    } as const;
    await this.rateLimit.countAgainst([budget], response);
    const body = await readJsonBody(request, response, TYPES);
    requireReading(request);
    request.isWorkedOn = true;
    try {
      const { reports, issues } = await this.read(body);
      const caller = { organizationId, actor: { type: 'system', id: 'mail-hook' }, scopes: [] } as const;
      await this.act(reports, requestContext(caller, request));
      if (issues.length > 0) {
        throw new RpcError(
          'BAD_REQUEST',
          'Part of the report could not be read. The readable part was processed.',
          {
            issues,
          },
        );
      }
      countAnswer(request, response);
      return { data: { reports: reports.length }, object: 'mail-hook' };
    } finally {
      request.isWorkedOn = false;
      request.onWorked?.();
    }
  }

  private async read(body: unknown): Promise<Reports> {
    if (!isObject(body) || typeof body.TopicArn !== 'string' || typeof body.Type !== 'string')
      return readReports(body);
    const opened = await this.sns.open(body as SnsEnvelope);
    return opened ? readSesReports(opened.message, opened.id) : { reports: [], issues: [] };
  }

  /** Processes all reports, then updates the projections once. */
  private async act(reports: readonly IdentifiedReport[], context: RequestContext): Promise<void> {
    if (reports.length === 0) return;
    await fewAtOnce(reports, ({ id, ...report }) => {
      const { organizationId } = context;
      const once = id === null ? context : { ...context, idempotencyKey: keyOf({ id, ...report }) };
      return this.suppressions.report(organizationId, report, once, { visible: false });
    });
    await this.projections.catchUpWithLog();
  }
}

const ANSWER = {
  type: 'object',
  properties: {
    data: { type: 'object', properties: { reports: { type: 'integer' } } },
    object: { type: 'string' },
  },
};

/** Repeating the same report does nothing, even after its suppression was deleted. */
function keyOf(report: IdentifiedReport): string {
  return `mail-hook ${createHash('sha256').update(canonical(report)).digest('hex')}`;
}
