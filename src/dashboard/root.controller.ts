import { All, Controller, Next, Req, Res } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { Documented } from '#libs/rpc';

/** Leads a browser from the server's address to the dashboard. Programs get the API's response: 404. */
@Controller()
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class RootController {
  // A GET-only route would return 405 for other methods.
  @All()
  root(@Req() request: Request, @Res() response: Response, @Next() next: NextFunction): void {
    response.vary('Accept');
    if (request.method !== 'GET' || request.accepts('json', 'html') !== 'html') return next();
    response.redirect('/dashboard');
  }
}
