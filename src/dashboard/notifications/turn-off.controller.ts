import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { type Request, type Response } from 'express';
import { html, type Page } from '#libs/pages';
import { Documented, OperationRunner, systemInput } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { type OffLink, OffLinks, UpdateSettings } from '../../notifications/index.js';
import { OrganizationNames } from '../../organizations/index.js';
import { Team } from '../../team/index.js';
import { Answering, type Asked } from '../answering.js';
import { noticePage } from '../document.js';

/**
 * The links in notifications. They need no sign-in, because they can only turn one kind of email off. GET changes nothing,
 * because mail scanners follow links. Mail programs send the POST themselves when someone presses their unsubscribe button
 * (RFC 8058).
 */
@Controller('dashboard/notifications')
@Documented(({ ApiExcludeController }) => [ApiExcludeController()])
export class TurnOffController {
  constructor(
    private readonly answering: Answering,
    private readonly links: OffLinks,
    private readonly names: OrganizationNames,
    private readonly team: Team,
    private readonly runner: OperationRunner,
  ) {}

  @Get(':notification/:token')
  ask(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.answering.open(request, response, async ({ words }) => {
      const link = await this.linkOf(request);
      const organization = link && (await this.names.find(link.organizationId));
      if (!organization) return invalidPage(words);
      const { title, text, button } = words.notifications.turningOff;
      const more = html`<form method="post"><p><button class="button">${button}</button></p></form>`;
      const name = words.notifications.names[link.notification];
      return noticePage(words, { title, text: text(organization.name, name) }, { more });
    });
  }

  @Post(':notification/:token')
  turnOff(@Req() request: Request, @Res() response: Response): Promise<void> {
    const turnOff = async ({ words }: Asked) => {
      const link = await this.linkOf(request);
      if (!link) return invalidPage(words);
      const { organizationId, memberId, notification, userId } = link;
      const command = systemInput(
        UpdateSettings,
        organizationId,
        { memberId, [notification]: false },
        'link',
      );
      command.context.actor = { type: 'user', id: userId };
      await this.runner.execute(command);
      const { title, text, button } = words.notifications.turnedOff;
      const more = html`<p>
        <a class="button plain" href="/dashboard/${organizationId}/notifications">${button}</a>
      </p>`;
      return noticePage(words, { title, text: text(words.notifications.names[notification]) }, { more });
    };
    return this.answering.open(request, response, turnOff, { takesFormsOfPrograms: true });
  }

  /** Undefined if the link is invalid, or belongs to a membership that has ended. */
  private async linkOf(request: Request): Promise<(OffLink & { userId: string }) | undefined> {
    const { notification, token } = request.params as { notification: string; token: string };
    const link = this.links.read(notification, token);
    const member = link && (await this.team.find(link.organizationId, link.memberId));
    return member && { ...link, userId: member.userId };
  }
}

function invalidPage(words: DashboardWords): Page {
  return noticePage(words, words.notifications.unknownLink, { status: 404 });
}
