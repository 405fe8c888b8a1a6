"""An index with one wheel."""

import os
import zipfile

from probe import facts

place = f"{facts['ROOT']}/internet/www/simple/greeting"
wheel = "greeting-1.0-py3-none-any.whl"
os.makedirs(place)
with open(f"{place}/index.html", "w", encoding="ascii") as file:
    file.write(f'<a href="{wheel}">{wheel}</a>')
FILES = {
    "greeting.py": "def greet():\n    return 'hello from a wheel'\n",
    "greeting-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
    "greeting-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "greeting-1.0.dist-info/RECORD": "",
}
with zipfile.ZipFile(f"{place}/{wheel}", "w") as archive:
    for name, text in FILES.items():
        archive.writestr(name, text)
