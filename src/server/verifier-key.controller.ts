import { Controller, Get, Header } from '@nestjs/common';
import { Documented } from '#libs/rpc';
import { Sealer } from '#libs/sealing';

/** The public key that verifies this server's checkpoints, at an address that needs no API key and no organization. */
@Controller('.well-known')
@Documented(({ ApiTags }) => [ApiTags('log')])
export class VerifierKeyController {
  constructor(private readonly sealer: Sealer) {}

  @Get('advocacy-verifier-key')
  @Header('Content-Type', 'text/plain; charset=utf-8')
  @Documented((swagger) => [
    swagger.ApiOperation({
      operationId: 'log.verifier-key',
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
}
