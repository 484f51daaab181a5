import { Controller, Get, Req, Res } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { Documented, noSuch } from '#libs/rpc';
import { sendScript } from './scripts.js';

/** Serves the dashboard's scripts, which are the same for everyone. */
@Controller('dashboard/scripts')
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class ScriptsController {
  @Get(':name')
  script(@Req() request: Request, @Res() response: Response): void {
    if (!sendScript((request.params as { name: string }).name, request, response)) throw noSuch('script');
  }
}
