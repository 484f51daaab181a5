import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { RecordReader } from '#libs/commands';
import {
  countAnswer,
  Documented,
  errorDocumentation,
  hasScope,
  NeedsScope,
  RecordInput,
  refuseBody,
  requireReading,
  requireScope,
  RpcError,
} from '#libs/rpc';
import { ALL_ORGANIZATIONS, Checkpoints, logIdOf, logNameOf, REGISTER, TILE_WIDTH } from '#libs/sealing';
import { Cosigning } from '../audit/index.js';
import { isLogPublic } from '../organizations/index.js';
import { sealed } from './not-sealed.js';

/** `<L>/<N>` or `entries/<N>`, with `.p/<W>` for a partial tile. Only the canonical spelling is accepted (C2SP tlog-tiles). */
const TILE = /^(entries|\d|[1-5]\d|6[0-3])\/(?!x000\/)((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;
const SCOPE = 'history:read';
const WHO = `Needs the scope \`${SCOPE}\`. If the organization has \`publicLog\`, no key is required.`;

/** The input of an equivalent operation, so that these routes document the same errors. */
class NamedLog extends RecordInput('log') {}
const READS = { method: 'GET', reasons: ['NOT_SEALED'] } as const;

const LOG_PATH = /^\/log\/[^/]+\/(checkpoint|tile)(?:\/(entries)?|$)/;

/** The name of `/log/…` in logs and metrics: addresses contain whatever the client sends. */
export function nameOfLogPath(path: string): string | undefined {
  const [, kind, entries] = LOG_PATH.exec(path) ?? [];
  return kind && `/log/${entries ?? kind}`;
}

/**
 * Serves the history as a log for transparency log tools (C2SP tlog-tiles): the last checkpoint, hashes and
 * leaves, but no contents of events. The specification defines the paths, so these are not operations. If the
 * organization makes its log public, no key is required.
 *
 * `/log/all/…` is the log of the checkpoints of all organizations. Any key can read its hashes, which reveal
 * nothing unless you already know the checkpoint. No one can read its leaves, which name organizations. Any key can also
 * read the log of the register.
 */
@Controller('log/:organizationId')
@Documented(({ ApiBearerAuth, ApiTags }) => [ApiTags('log'), ApiBearerAuth()])
export class LogController {
  constructor(
    private readonly checkpoints: Checkpoints,
    private readonly records: RecordReader,
    private readonly cosigning: Cosigning,
  ) {}

  @Get('checkpoint')
  @NeedsScope(SCOPE, { mayBePublic: true })
  @Documented((swagger) => [
    swagger.ApiOperation({
      operationId: 'getLogCheckpoint',
      summary: 'Retrieve the latest checkpoint for transparency log tools',
      description:
        'Returns a signed note (C2SP tlog-checkpoint). Use `all` instead of an organization for the log of all ' +
        `organizations’ checkpoints. ${WHO}`,
    }),
    swagger.ApiResponse({ status: 200, description: 'The signed note', content: { 'text/plain': TEXT } }),
    ...errorDocumentation(swagger, NamedLog, READS),
  ])
  async checkpoint(
    @Param('organizationId') log: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { organizationId } = await this.admit(request, log);
    const { note } = await this.cosigning.cosigned(await sealed(this.checkpoints.last(organizationId)));
    // Never cached, not even for seconds: the older of two cached checkpoints looks like a rolled-back history.
    send(request, response, 'text/plain; charset=utf-8', note);
  }

  @Get('tile/*path')
  @NeedsScope(SCOPE, { mayBePublic: true })
  @Documented((swagger) => [
    swagger.ApiOperation({
      operationId: 'getLogTile',
      summary: 'Retrieve a tile of the history’s tree, or the leaves below it',
      description:
        'Returns hashes of 32 bytes each: `path` is `<L>/<N>`, or `<L>/<N>.p/<W>` for the first W hashes (C2SP ' +
        'tlog-tiles). `entries/<N>` returns the leaves below tile `0/<N>`. Each leaf starts with its length in 2 ' +
        'bytes, followed by the event’s position in 8 bytes (big-endian) and its digest. The log `all` does not ' +
        `expose entries. Only data covered by the latest checkpoint is available. ${WHO}`,
    }),
    swagger.ApiParam({ name: 'path', schema: { type: 'string' }, example: '0/000.p/1' }),
    swagger.ApiResponse({ status: 200, description: 'The hashes or leaves', content: { [BYTES]: BINARY } }),
    ...errorDocumentation(swagger, NamedLog, READS),
  ])
  async tile(
    @Param('organizationId') log: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { organizationId, isPublic } = await this.admit(request, log);
    const [, kind, index, partial] = TILE.exec(request.path.split('/tile/')[1] ?? '') ?? [];
    const width = partial === undefined ? TILE_WIDTH : Number(partial);
    if (kind === undefined || (partial !== undefined && width >= TILE_WIDTH)) throw notFound();
    if (kind === 'entries' && organizationId === ALL_ORGANIZATIONS) throw notFound();
    const number = Number(index!.replace(/[x/]/g, ''));
    const bytes =
      kind === 'entries'
        ? await sealed(this.checkpoints.leaves(organizationId, number, width))
        : await sealed(this.checkpoints.tile(organizationId, Number(kind), number, width));
    if (!bytes) throw notFound();
    // Sealed data never changes.
    response.setHeader('Cache-Control', `${isPublic ? 'public' : 'private'}, max-age=31536000, immutable`);
    send(request, response, BYTES, Array.isArray(bytes) ? bundle(bytes) : bytes);
  }

  /**
   * @returns the id under which the log is stored, and whether it is public. For a key that can read the log
   * anyway, that is not checked.
   * @throws RpcError NOT_FOUND if the log does not exist or is not public. Both look the same, so that no one
   * learns which organizations exist.
   */
  private async admit(request: Request, log: string): Promise<{ organizationId: string; isPublic: boolean }> {
    refuseBody(request);
    requireReading(request);
    const isOfAll = log === logNameOf(ALL_ORGANIZATIONS) || log === REGISTER;
    const organizationId = isOfAll ? logIdOf(log) : log;
    const caller = isOfAll || request.caller?.organizationId === log ? request.caller : undefined;
    if (caller && hasScope(caller.scopes, SCOPE)) return { organizationId, isPublic: false };
    if (!isOfAll && (await isLogPublic(this.records, log))) return { organizationId, isPublic: true };
    if (caller) requireScope(caller.scopes, SCOPE);
    throw notFound();
  }
}

const BYTES = 'application/octet-stream';
const TEXT = { schema: { type: 'string' } };
const BINARY = { schema: { type: 'string', format: 'binary' } };

function notFound(): RpcError {
  return new RpcError(
    'NOT_FOUND',
    'This log does not exist, your key cannot read it, or its latest checkpoint does not cover this tile. A log ' +
      'that is not public requires an API key of its organization with the scope history:read.',
  );
}

/** Express’s `send` would change the charset. */
function send(request: Request, response: Response, type: string, body: string | Buffer): void {
  if (request.isGivenUp) return;
  countAnswer(request, response);
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}

/** Prefixes each leaf with its length in 2 bytes. */
function bundle(leaves: readonly Buffer[]): Buffer {
  return Buffer.concat(
    leaves.flatMap((leaf) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(leaf.length);
      return [length, leaf];
    }),
  );
}
