import { Controller, Get, Next, Param, Req, Res } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { Documented, isId } from '#libs/rpc';
import { Clicks } from './clicks.js';

/** The name of the path in logs and metrics, without the broadcast. */
export function nameOfClickPath(path: string): string | undefined {
  return path.startsWith('/l/') ? '/l' : undefined;
}

/**
 * The links in broadcasts that count clicks. They lead only to addresses that the broadcast contained when it was sent, so they are no
 * open redirect.
 */
@Controller('l')
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class ClickController {
  constructor(private readonly clicks: Clicks) {}

  @Get(':broadcast/:n')
  async follow(
    @Param('broadcast') broadcastId: string,
    @Param('n') n: string,
    @Req() request: Request,
    @Res() response: Response,
    @Next() next: NextFunction,
  ): Promise<void> {
    if (!isId(broadcastId) || !/^[1-9]\d{0,2}$/.test(n)) return next();
    // Previews and prefetching are not clicks.
    const purpose = request.get('sec-purpose') ?? request.get('purpose') ?? '';
    const isClick = request.method === 'GET' && !/prefetch/i.test(purpose);
    const url = await this.clicks.follow(broadcastId, Number(n), isClick ? request.ip : undefined);
    if (url === undefined) return next();
    if (request.isGivenUp) return;
    response
      .status(302)
      .set({ Location: url, 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
      .end();
  }
}
