import { Controller, Get, Next, Req, Res } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { Documented } from '#libs/rpc';

/** Leads a browser from the server's address to the dashboard. Programs get the API's response: 404. */
@Controller()
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class RootController {
  @Get()
  root(@Req() request: Request, @Res() response: Response, @Next() next: NextFunction): void {
    response.vary('Accept');
    if (request.accepts('json', 'html') !== 'html') return next();
    response.redirect('/dashboard');
  }
}
