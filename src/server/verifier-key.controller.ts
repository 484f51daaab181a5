import { Controller, Get, Header } from '@nestjs/common';
import { scriptFile } from '#libs/pages';
import { Documented } from '#libs/rpc';
import { Sealer } from '#libs/sealing';

/**
 * What an outsider needs to verify this server's histories, at addresses that need no API key and no organization: the public
 * key, and the program.
 */
@Controller('.well-known')
@Documented(({ ApiTags }) => [ApiTags('log')])
export class VerifierKeyController {
  constructor(private readonly sealer: Sealer) {}

  @Get('advocacy-verifier-key')
  @Header('Content-Type', 'text/plain; charset=utf-8')
  @Documented((swagger) => [
    swagger.ApiOperation({
      operationId: 'getVerifierKey',
      summary: 'Retrieve the key that verifies the checkpoints of this server',
      description:
        'Returns a line `<name>+<key id>+<base64>` (C2SP signed-note). Needs no API key. Compare it over a second ' +
        'channel: a server cannot confirm its own key.',
    }),
    swagger.ApiResponse({
      status: 200,
      description: 'The verifier key',
      content: { 'text/plain': { schema: { type: 'string' } } },
    }),
  ])
  key(): string {
    return `${this.sealer.signers.verifierKey}\n`;
  }

  @Get('advocacy-verify.mjs')
  @Header('Content-Type', 'text/javascript; charset=utf-8')
  @Documented((swagger) => [
    swagger.ApiOperation({
      operationId: 'log.verifier',
      summary: 'Download the program that verifies histories',
      description:
        'Returns `advocacy-verify`, one file for Node.js and browsers without dependencies. Needs no API key. If you do not ' +
        'trust this server, build the same file from the source code of a release, and compare.',
    }),
    swagger.ApiResponse({
      status: 200,
      description: 'The program',
      content: { 'text/javascript': { schema: { type: 'string' } } },
    }),
  ])
  program(): string {
    return scriptFile('#advocacy-verify').text.toString();
  }
}
