import { Controller, Get, Res } from '@nestjs/common';
import { type Response } from 'express';
import { html, sendPage } from '#libs/pages';
import { Documented } from '#libs/rpc';
import { localeFor } from '#locales';
import { PublicAddress } from '../config/index.js';
import { programVersion } from '../environment/index.js';
import { pageOf } from '../site/index.js';

/** Where to go from here: a page for browsers, JSON for programs. */
@Controller()
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class HomeController {
  constructor(private readonly address: PublicAddress) {}

  @Get('/')
  answer(@Res() response: Response): void {
    const { req: request } = response;
    response.vary('Accept');
    // Programs accept anything, and browsers name HTML.
    if (request.accepts(['json', 'html']) !== 'html') {
      const { url } = this.address;
      const data = {
        version: programVersion(),
        documentation: `${url}/docs`,
        openapi: `${url}/openapi.json`,
        dashboard: `${url}/dashboard`,
      };
      response.json({ data, object: 'server' });
      return;
    }
    const words = localeFor(request).site;
    const { title, dashboard, documentation, openapi } = words.home;
    const content = html`<h1>${title}</h1>
      <ul>
        <li><a href="/dashboard">${dashboard}</a></li>
        <li><a href="/docs">${documentation}</a></li>
        <li><a href="/openapi.json">${openapi}</a></li>
      </ul>`;
    sendPage(response, pageOf({ organization: null, words, title, content }));
  }
}
