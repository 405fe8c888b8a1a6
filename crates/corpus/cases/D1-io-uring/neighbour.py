"""Programs that would use io_uring fall back: an event loop, files and processes."""

import asyncio


async def main():
    process = await asyncio.create_subprocess_exec("echo", "hello", stdout=asyncio.subprocess.PIPE)
    assert (await process.communicate())[0] == b"hello\n"
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b""


asyncio.run(main())
