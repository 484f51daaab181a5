/** Stock Nest with Express and ValidationPipe. Its sixty routes do nothing. Requests use the middle two. */
import 'reflect-metadata';
import { Body, Controller, Get, HttpCode, Module, Post, type Type, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IsOptional, IsString, IsUUID } from 'class-validator';
import { type AddressInfo, type Server } from 'node:net';

class AddSignature {
  @IsUUID()
  petitionId!: string;

  @IsUUID()
  contactId!: string;

  @IsOptional()
  @IsString()
  comment?: string;
}

const id = '01990a6e-1111-7000-8000-000000000001';

function resource(n: number): Type {
  @Controller('v1')
  class Resource {
    @Get(`resource-${n}.get`)
    get() {
      return { data: { id, signatures: 1 }, object: 'petition' };
    }

    @Post(`resource-${n}.add-signature`)
    @HttpCode(200)
    addSignature(@Body() { petitionId, contactId }: AddSignature) {
      return { data: { signatureId: id, petitionId, contactId, signatures: 1 }, object: 'signature' };
    }
  }
  return Resource;
}

@Module({ controllers: Array.from({ length: 30 }, (_, n) => resource(n)) })
class NoopModule {}

const app = await NestFactory.create(NoopModule, { logger: false });
app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
await app.listen(0, '127.0.0.1');
const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
console.log(JSON.stringify({ message: 'listening', port }));
